//! `thrashlab experiment`: a plan of factors becomes runs.

use std::path::Path;

use analysis::Dataset;
use analysis::comparison::Request;
use anyhow::{Context, anyhow};
use experiment::{AA_FACTOR, Carried, Driver, Experiment, ExperimentError, Outlook, PlanChanges};
use model::units::format_duration;
use stats::Verdict;

use crate::experiment_args::ExperimentArgs;
use crate::laboratory::{drive, failure};
use crate::progress::Progress;
use crate::{Failure, fleet, print, print_bytes, print_json};

/// What came of a laboratory.
enum Outcome {
    /// The cells that are still to be made, a line each.
    Cells(String),
    /// How far it is, and how many guests would run at a time.
    Outlook(Outlook, usize),
    Carried(Carried),
}

/// Carries a plan out, or prints what that would be.
pub(crate) fn experiment(args: &ExperimentArgs) -> Result<(), Failure> {
    let changes = PlanChanges {
        blocks: args.blocks,
        seeds: args.seeds.as_ref().map(|seeds| seeds.0.clone()),
        against_itself: args.aa,
    };
    let output = args.output.as_deref();
    let mut experiment = Experiment::new(&args.plan, &changes, output).map_err(failure)?;
    if args.print_plan {
        return print_plan(args, &experiment);
    }
    experiment.open().map_err(failure)?;
    if args.list_cells || args.fleet.is_some() {
        experiment.may_go_elsewhere().map_err(failure)?;
    }
    let folder = experiment.folder.clone();
    if let Some(address) = &args.fleet {
        return fleet::start(address, args, &folder);
    }
    let mut progress = args.lab.progress(args.quiet)?;
    let outcome =
        drive(&args.lab.options(), &mut progress, |driver| work(args, &experiment, driver));
    let is_run = !args.list_cells && !args.dry_run;
    let outcome = outcome.inspect_err(|error| {
        if is_run && !matches!(error, Failure::WrongUse(_)) && folder.is_dir() {
            progress.say(&format!("what was measured before is in {}", folder.display()));
        }
    })?;
    match outcome {
        Outcome::Cells(text) => print_bytes(model::shown::shown_json(&text).as_bytes()),
        Outcome::Outlook(outlook, jobs) => print_outlook(args, &outlook, jobs, &folder),
        Outcome::Carried(carried) => finish(args, &carried, &folder, &progress),
    }
}

fn work(
    args: &ExperimentArgs,
    experiment: &Experiment,
    driver: &mut Driver<'_>,
) -> Result<Outcome, ExperimentError> {
    let mut lab = experiment.set_up(driver)?;
    if args.list_cells {
        return lab.list(&experiment.folder).map(Outcome::Cells);
    }
    if args.dry_run {
        let outlook = lab.outlook(&experiment.folder)?;
        return Ok(Outcome::Outlook(outlook, driver.jobs(lab.largest_guest_bytes())));
    }
    experiment.run(&mut lab, driver).map(Outcome::Carried)
}

/// Prints the plan as it is understood.
fn print_plan(args: &ExperimentArgs, experiment: &Experiment) -> Result<(), Failure> {
    let manifest = experiment.planned().map_err(failure)?;
    if args.json {
        return print_json(&manifest);
    }
    print(&report::plan_text(&manifest))
}

/// Prints how far the experiment is and how long the rest will take.
fn print_outlook(
    args: &ExperimentArgs,
    outlook: &Outlook,
    jobs: usize,
    folder: &Path,
) -> Result<(), Failure> {
    let (on_host, host_ns) = outlook.on_host;
    let (in_guests, virtual_ns) = outlook.in_guests;
    if args.json {
        return print_json(&serde_json::json!({
            "folder": folder, "found": outlook.found, "cached": outlook.cached,
            "on_host": on_host, "on_host_ns": host_ns,
            "in_guests": in_guests, "in_guests_virtual_ns": virtual_ns,
            "simulated": outlook.simulated,
        }));
    }
    let mut text = format!(
        "All levels can be set. {} runs are in {}, {} in the cache.\n",
        outlook.found,
        folder.display(),
        outlook.cached
    );
    if on_host > 0 {
        let time = format_duration(host_ns);
        text += &format!("To be made on this host, one at a time: {on_host}, about {time}.\n");
    }
    if in_guests > 0 {
        let time = format_duration(virtual_ns);
        text += &format!(
            "To be made in guests, {jobs} at a time: {in_guests}, about {time} of virtual time.\n"
        );
    }
    if outlook.simulated > 0 {
        text += &format!("To be simulated: {}.\n", outlook.simulated);
    }
    print(&text)
}

/// Prints what the cells came to and what to do next.
fn finish(
    args: &ExperimentArgs,
    carried: &Carried,
    folder: &Path,
    progress: &Progress,
) -> Result<(), Failure> {
    let shown = folder.display();
    if carried.interrupted {
        progress.say(&format!("stopped; the same command goes on with it ({shown})"));
        return Err(Failure::Interrupted);
    }
    if carried.found > 0 {
        progress.say(&format!("{} runs were there already", carried.found));
    }
    if carried.found + carried.made == 0 {
        let reasons: Vec<String> =
            carried.refused.iter().map(|(run, why)| format!("{run}: {why}")).collect();
        return Err(Failure::NotMeasured(anyhow!("no run was made: {}", reasons.join("; "))));
    }
    let dataset = store::observations(&folder.to_string_lossy())
        .context("read the runs")
        .map_err(Failure::NotMeasured)?;
    if args.aa {
        progress.say(&format!("run files: {shown}"));
        return show_against_itself(args, &dataset);
    }
    if args.json {
        print_json(&dataset)?;
    } else {
        print(&report::cells_text(&dataset))?;
    }
    progress.say(&format!("run files: {shown}"));
    let folder = model::shown::quoted(&folder.to_string_lossy());
    progress.say(&format!("what it means: thrashlab attribute {folder}"));
    if let Some(factor) = dataset.factors.first() {
        let factor = model::shown::quoted(&factor.name);
        progress.say(&format!("               thrashlab compare {folder} --factor {factor}"));
    }
    Ok(())
}

/// Prints how much noise there is; an alarm is a failure.
fn show_against_itself(args: &ExperimentArgs, dataset: &Dataset) -> Result<(), Failure> {
    let found = analysis::against_itself(dataset, AA_FACTOR, &Request::default())
        .context("compare the two arms")?;
    if args.json {
        print_json(&found)?;
    } else {
        print(&report::against_itself_text(&found))?;
    }
    let alarm = found
        .comparison
        .cells
        .iter()
        .any(|cell| matches!(cell.verdict, Verdict::Regression | Verdict::Improvement));
    if alarm { Err(Failure::NotSo) } else { Ok(()) }
}
