//! `thrashlab experiment`: a plan of factors becomes runs.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use analysis::Dataset;
use analysis::comparison::Request;
use anyhow::{Context, anyhow};
use clap::Args;
use experiment::typed::seeds_text;
use experiment::{AA_FACTOR, Driver, Experiment, ExperimentError, Outlook, PlanChanges, RunTally};
use model::units::format_duration;
use render::format::counted;
use render::{Block, Document};
use report::{against_itself_document, cells_document, plan_document};

use crate::failed_start::ResultsStart;
use crate::fleet::FleetArgs;
use crate::laboratory::{LabArgs, arguments, drive, failure};
use crate::output::{FormatArgs, show_in};
use crate::progress::Progress;
use crate::{Failure, Result, print_bytes};

const EXAMPLES: &str = "\
Examples:
  thrashlab experiment examples/compiler-vs-system.toml
  thrashlab experiment plan.toml --dry-run    what would be run, in which order
  thrashlab experiment plan.toml --check
                               can all levels be set, and how long will it take?
  thrashlab experiment plan.toml --blocks 12  continue with more blocks
  thrashlab experiment plan.toml --fleet ray://head:10001 \\
      --store s3://bucket/cells
  thrashlab experiment plan.toml --aa
                               the first cell against itself: the noise floor
  thrashlab compare ~/.local/share/thrashlab/NAME --factor FACTOR
  thrashlab attribute ~/.local/share/thrashlab/NAME

To resume an interrupted experiment, run the same command again. How to write a
plan, and everything that it can set: docs/experiments.md.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExperimentArgs {
    /// The plan (TOML)
    plan: PathBuf,

    /// Folder for the run files; existing runs are not repeated [default: named after the plan, in
    /// the user's data directory]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Print the plan as it is understood and run nothing
    #[arg(long, conflicts_with_all = ["check", "fleet"])]
    dry_run: bool,

    /// Build and try every level, print how long the runs will take, and run nothing
    #[arg(long, conflicts_with = "fleet")]
    check: bool,

    /// Print the deterministic cells that are still to run, as JSON lines for `thrashlab cells`,
    /// and run none (docs/fleet.md)
    #[arg(long, conflicts_with_all = ["dry_run", "check", "no_cache", "fleet"])]
    list_cells: bool,

    #[command(flatten)]
    fleet: FleetArgs,

    /// With --fleet: run every cell again, even those in the store
    #[arg(long, requires = "fleet")]
    no_resume: bool,

    #[command(flatten)]
    changes: PlanChanges,

    #[command(flatten)]
    lab: LabArgs,

    #[command(flatten)]
    format: FormatArgs,
}

enum Outcome {
    /// The cells that are still to run, one line each.
    Cells(String),
    /// How far it is, and how many guests would run at a time.
    Outlook(Outlook, usize),
    Tally(RunTally),
}

pub(crate) fn experiment(args: &ExperimentArgs) -> Result<()> {
    let output = args.output.as_deref();
    let mut experiment = Experiment::new(&args.plan, &args.changes, output).map_err(failure)?;
    if args.dry_run {
        let manifest = experiment.planned().map_err(failure)?;
        return show_in(&plan_document(&manifest), &args.format);
    }
    let start = ResultsStart::at(&experiment.folder);
    experiment.open().map_err(failure)?;
    if args.list_cells || args.fleet.address.is_some() {
        experiment.may_go_elsewhere().map_err(failure)?;
    }
    let folder = experiment.folder.clone();
    if let Some(address) = &args.fleet.address {
        return start_fleet(address, args, &folder);
    }
    let mut progress = args.lab.progress()?;
    let outcome = drive(&args.lab.options, &mut progress, |driver| work(args, &experiment, driver));
    let is_run = !args.list_cells && !args.check;
    let outcome = outcome.inspect_err(|error| {
        if is_run && !matches!(error, Failure::WrongUse(_)) && folder.is_dir() {
            progress.say(&format!("what was measured before is in {}", folder.display()));
        }
    })?;
    match outcome {
        Outcome::Cells(text) => print_bytes(model::shown::shown_json(&text).as_bytes()),
        Outcome::Outlook(outlook, jobs) => print_outlook(args, &outlook, jobs, &folder),
        Outcome::Tally(carried) => finish(args, &carried, &start, &progress),
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
    if args.check {
        let outlook = lab.outlook(&experiment.folder)?;
        return Ok(Outcome::Outlook(outlook, driver.jobs(lab.largest_guest_bytes())));
    }
    experiment.run(&mut lab, driver).map(Outcome::Tally)
}

fn print_outlook(
    args: &ExperimentArgs,
    outlook: &Outlook,
    jobs: usize,
    folder: &Path,
) -> Result<()> {
    let (on_host, host_ns) = outlook.on_host;
    let (in_guests, virtual_ns) = outlook.in_guests;
    let data = serde_json::json!({
        "folder": folder, "found": outlook.found, "cached": outlook.cached,
        "on_host": on_host, "on_host_ns": host_ns,
        "in_guests": in_guests, "in_guests_virtual_ns": virtual_ns,
        "simulated": outlook.simulated,
    });
    let mut text = format!(
        "All levels can be set. {} runs are in {}, {} in the cache.\n",
        outlook.found,
        folder.display(),
        outlook.cached
    );
    if on_host > 0 {
        let time = format_duration(host_ns);
        text += &format!("To run on this host, one at a time: {on_host}, about {time}.\n");
    }
    if in_guests > 0 {
        let time = format_duration(virtual_ns);
        text += &format!(
            "To run in guests, {jobs} at a time: {in_guests}, about {time} of virtual time.\n"
        );
    }
    if outlook.simulated > 0 {
        text += &format!("To be simulated: {}.\n", outlook.simulated);
    }
    let document = Document::of(vec![Block::Verbatim(text)]).with_data(data);
    show_in(&document, &args.format)
}

fn finish(
    args: &ExperimentArgs,
    carried: &RunTally,
    start: &ResultsStart,
    progress: &Progress,
) -> Result<()> {
    let folder = start.folder();
    let shown = folder.display();
    if carried.interrupted {
        progress.say(&format!("stopped; run the same command again to resume it ({shown})"));
        return Err(Failure::Interrupted);
    }
    if carried.found > 0 {
        progress.say(&format!("{} already existed", counted(carried.found, "run")));
    }
    if carried.found + carried.made == 0 {
        let reasons: Vec<String> =
            carried.refused.iter().map(|(run, why)| format!("{run}: {why}")).collect();
        return Err(Failure::NotMeasured(anyhow!("no run was executed: {}", reasons.join("; "))));
    }
    let dataset = store::observations(&folder.to_string_lossy()).context("read the runs")?;
    if start.remove_if_failed() {
        progress.say(&start.text());
        let endings = dataset.trials.iter().filter_map(|trial| trial.ending.as_ref());
        let causes: BTreeSet<&str> = endings.filter_map(|it| it.cause.as_deref()).collect();
        let causes: Vec<&str> = causes.into_iter().collect();
        return Err(Failure::NotMeasured(anyhow!("no run was started: {}", causes.join("; "))));
    }
    if args.changes.aa {
        progress.say(&format!("run files: {shown}"));
        return show_against_itself(args, &dataset);
    }
    show_in(&cells_document(&dataset), &args.format)?;
    progress.say(&format!("run files: {shown}"));
    let folder = model::shown::quoted(&folder.to_string_lossy());
    progress.say(&format!("what it means: thrashlab attribute {folder}"));
    if let Some(factor) = dataset.factors.first() {
        let factor = model::shown::quoted(&factor.name);
        progress.say(&format!("               thrashlab compare {folder} --factor {factor}"));
    }
    Ok(())
}

/// Prints how much noise there is; an alarm is [`Failure::CheckFailed`].
fn show_against_itself(args: &ExperimentArgs, dataset: &Dataset) -> Result<()> {
    let found = analysis::against_itself(dataset, AA_FACTOR, &Request::default())
        .context("compare the two arms")?;
    show_in(&against_itself_document(&found), &args.format)?;
    if found.is_alarm() { Err(Failure::CheckFailed) } else { Ok(()) }
}

/// Becomes the driver of a fleet; returns only if that fails.
fn start_fleet(address: &str, args: &ExperimentArgs, folder: &Path) -> Result<()> {
    let mut command = args.fleet.driver(address, &args.plan, folder, &args.lab)?;
    command.args(set_flags([(args.no_resume, "--no-resume")]));
    // What belongs to the plan goes to every `thrashlab experiment` that the driver starts.
    command.arg("--").args(of_plan(args));
    let error = command.exec();
    let python = command.get_program().to_string_lossy();
    Err(Failure::NotMeasured(anyhow!("start {python}: {error}")))
}

/// The arguments that change the plan or what is printed of it.
fn of_plan(args: &ExperimentArgs) -> Vec<OsString> {
    let mut passed = arguments([
        ("--blocks", args.changes.blocks.map(|blocks| blocks.to_string().into())),
        ("--seeds", args.changes.seeds.as_ref().map(|seeds| seeds_text(seeds).into())),
        ("--format", args.format.name().map(OsString::from)),
    ]);
    passed.extend(set_flags([(args.changes.aa, "--aa")]));
    passed
}

fn set_flags<const N: usize>(flags: [(bool, &'static str); N]) -> impl Iterator<Item = OsString> {
    flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag.into())
}
