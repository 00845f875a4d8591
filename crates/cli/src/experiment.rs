//! `thrashlab experiment`: a plan of factors becomes runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use agent::Waiter;
use analysis::Dataset;
use analysis::comparison::Request;
use anyhow::{Context, anyhow};
use experiment::{
    AA_FACTOR, Carried, CellPlan, Laboratory, Plan, aliases, bound_to_host, manifest, outlook,
    parse_plan,
};
use model::units::format_duration;
use model::{Manifest, ManifestRun};
use stats::Verdict;
use store::StoreError;

use crate::experiment_args::ExperimentArgs;
use crate::laboratory::failure;
use crate::progress::Progress;
use crate::{Failure, fleet, print, print_bytes, print_json};

/// Carries a plan out, or tells what that would be.
pub(crate) fn experiment(args: &ExperimentArgs) -> Result<(), Failure> {
    // Caught from here on, so that Ctrl-C never leaves anything behind.
    let waiter = Waiter::new().context("catch signals")?;
    let (plan, text) = read(args)?;
    let plan_folder = args.plan.parent().unwrap_or(Path::new("")).to_owned();
    if args.print_plan {
        return print_plan(args, &plan, &text, &plan_folder);
    }
    let folder = folder(args, &plan);
    let known = known(&folder, &plan)?;
    let goes_elsewhere = args.list_cells || args.fleet.is_some();
    if let (true, Ok(cells)) = (goes_elsewhere, plan.cells(&plan_folder)) {
        may_go_elsewhere(&cells)?;
    }
    if let Some(address) = &args.fleet {
        return fleet::start(address, args, &folder);
    }
    let mut progress = Progress::new(args.quiet);
    let set = args.lab.set_up(&plan, &plan_folder, &waiter, &progress);
    let mut lab = set.map_err(|error| failure(error, &waiter))?;
    for line in aliases(&plan) {
        progress.say(&format!("cannot be told apart in this fraction: {line}"));
    }
    if args.list_cells {
        return list_cells(&lab, &folder);
    }
    if args.dry_run {
        return tell_outlook(args, &lab, &folder);
    }
    let manifest = with_former(manifest(&plan, lab.cells(), &text), known.as_ref());
    if known.as_ref() != Some(&manifest) {
        store::manifest::write(&manifest, &folder)
            .context("write the manifest")
            .map_err(Failure::NotMeasured)?;
    }
    let carried = args.lab.carry_out(&mut lab, &folder, &waiter, &mut progress);
    progress.finish();
    let carried = carried.map_err(|error| {
        progress.say(&format!("what was measured before is in {}", folder.display()));
        failure(error, &waiter)
    })?;
    finish(args, &carried, &folder, &progress)
}

/// Fails if only this host can make some of the cells.
fn may_go_elsewhere(cells: &[CellPlan]) -> Result<(), Failure> {
    let reasons = bound_to_host(cells);
    match reasons.is_empty() {
        true => Ok(()),
        false => Err(wrong(anyhow!("not on a fleet: {}", reasons.join("; ")))),
    }
}

/// Prints what is still to be made, a line each.
fn list_cells(lab: &Laboratory, folder: &Path) -> Result<(), Failure> {
    let mut text = String::new();
    for listed in lab.listed(folder).context("list the cells")? {
        text += &serde_json::to_string(&listed).context("write a cell as JSON")?;
        text.push('\n');
    }
    print_bytes(model::shown::shown_json(&text).as_bytes())
}

/// Reads the plan, with what the arguments change of it.
fn read(args: &ExperimentArgs) -> Result<(Plan, String), Failure> {
    let path = args.plan.display();
    let text = fs::read_to_string(&args.plan)
        .with_context(|| format!("read the plan {path}"))
        .map_err(Failure::WrongUse)?;
    let mut plan = parse_plan(&text).map_err(|error| wrong(anyhow!("{path}: {error}")))?;
    if let Some(blocks) = args.blocks {
        let named = plan.seeds.iter().copied();
        let further = (1..).filter(|seed| !plan.seeds.contains(seed));
        plan.seeds = named.chain(further).take(blocks as usize).collect();
    }
    if let Some(seeds) = &args.seeds {
        plan.seeds.clone_from(&seeds.0);
    }
    Ok((if args.aa { plan.against_itself() } else { plan }, text))
}

fn wrong(error: anyhow::Error) -> Failure {
    Failure::WrongUse(error)
}

fn folder(args: &ExperimentArgs, plan: &Plan) -> PathBuf {
    let default = || store::results::default_folder().join(&plan.name);
    args.output.clone().unwrap_or_else(default)
}

/// The manifest that the folder has, if it is one of this plan: more blocks are no other plan.
fn known(folder: &Path, plan: &Plan) -> Result<Option<Manifest>, Failure> {
    let Some(found) = store::manifest::read(folder).map_err(|error| wrong(error.into()))? else {
        return no_runs(folder).map(|()| None);
    };
    let same_factors = found.factors.iter().map(|factor| (&factor.name, &factor.levels)).eq(plan
        .factors
        .iter()
        .map(|factor| &factor.name)
        .zip(&levels(plan)));
    if found.name == plan.name && same_factors {
        return Ok(Some(found));
    }
    Err(of_another(folder, &found))
}

/// Fails if a folder without a manifest has runs nevertheless, whether they can be read or not.
pub(crate) fn no_runs(folder: &Path) -> Result<(), Failure> {
    let name = || format!("{}; name another folder with --output DIR", folder.display());
    if !folder.try_exists().with_context(name).map_err(wrong)? {
        return Ok(());
    }
    if !folder.is_dir() {
        return Err(wrong(anyhow!("a file and no folder").context(name())));
    }
    match store::results::read_runs(folder) {
        Err(StoreError::Empty { .. }) => Ok(()),
        Err(damaged) => Err(wrong(anyhow::Error::new(damaged).context(name()))),
        Ok(_) => Err(wrong(anyhow!(
            "{} holds runs of no experiment; name another folder with --output DIR",
            folder.display()
        ))),
    }
}

/// A folder has an experiment, but not this one.
pub(crate) fn of_another(folder: &Path, found: &Manifest) -> Failure {
    wrong(anyhow!(
        "{} holds the experiment {:?} with other factors or levels; name another folder with \
         --output DIR, or remove it",
        folder.display(),
        found.name
    ))
}

/// The manifest with the runs that a former one has beyond it: more blocks, other seeds. As each
/// block has a seed of its own, a seed that is in the former one only gets a block of its own.
pub(crate) fn with_former(mut manifest: Manifest, former: Option<&Manifest>) -> Manifest {
    let mut blocks: BTreeMap<u64, u32> =
        manifest.runs.iter().map(|run| (run.seed, run.block)).collect();
    for run in former.into_iter().flat_map(|former| &former.runs) {
        if !manifest.runs.iter().any(|other| other.run_id == run.run_id) {
            let next = blocks.values().max().map_or(0, |last| last + 1);
            let block = *blocks.entry(run.seed).or_insert(next);
            manifest.runs.push(ManifestRun { block, ..run.clone() });
        }
    }
    manifest
}

fn levels(plan: &Plan) -> Vec<Vec<String>> {
    let names = |factor: &experiment::PlanFactor| {
        factor.levels.iter().map(|level| level.name.clone()).collect()
    };
    plan.factors.iter().map(names).collect()
}

/// Prints the plan as it is understood.
fn print_plan(
    args: &ExperimentArgs,
    plan: &Plan,
    text: &str,
    folder: &Path,
) -> Result<(), Failure> {
    let cells = plan.cells(folder).map_err(|error| wrong(error.into()))?;
    let manifest = manifest(plan, &cells, text);
    if args.json {
        let value = serde_json::to_value(&manifest).context("write the plan as JSON")?;
        return print_json(&value);
    }
    print(&report::plan_text(&manifest))
}

/// Tells how far the experiment is and how long the rest will take.
fn tell_outlook(args: &ExperimentArgs, lab: &Laboratory, folder: &Path) -> Result<(), Failure> {
    let outlook = outlook(lab, folder).context("look at the folder")?;
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
        let jobs = args.lab.jobs(lab);
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
        return tell_against_itself(args, &dataset);
    }
    if args.json {
        print_json(&serde_json::to_value(&dataset).context("write the result as JSON")?)?;
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
fn tell_against_itself(args: &ExperimentArgs, dataset: &Dataset) -> Result<(), Failure> {
    let found = analysis::against_itself(dataset, AA_FACTOR, &Request::default())
        .context("compare the two arms")?;
    if args.json {
        print_json(&serde_json::to_value(&found).context("write the result as JSON")?)?;
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
