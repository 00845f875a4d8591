//! `thrashlab run`: the responsiveness matrix of one subject.

use std::path::PathBuf;

use agent::Freeze;
use anyhow::anyhow;
use experiment::{DriverOptions, MatrixPlace, MatrixPlan, SubjectArg};
use model::Measure;
use store::StoreError;

use crate::args::RunArgs;
use crate::laboratory::drive;
use crate::{Failure, report, show};

/// One freeze a second, for the test hook.
const FREEZE_EVERY_NS: u64 = 1_000_000_000;

/// Makes the runs and prints the table.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let job = args.job.measure()?;
    if job.is_some() && args.shape.output_format().is_none() {
        return Err(Failure::WrongUse(anyhow!("--format resp1 is a form of a probe's results")));
    }
    check_intensity(args)?;
    let measure = job.unwrap_or_else(|| experiment::probe_measure(&args.probe));
    let folder = results_folder(args, &measure)?;
    let measured = measure.name().to_owned();
    let mut progress = args.lab.progress(args.quiet)?;
    let place =
        MatrixPlace { subject: args.subject.as_ref(), swap_bytes: args.swap, folder: &folder };
    check_place(args)?;
    let plan = plan(args, measure)?;
    let freeze = args.test_freeze.map(|freeze_ns| Freeze { freeze_ns, every_ns: FREEZE_EVERY_NS });
    let options = DriverOptions { freeze, ..args.lab.options() };
    let result = drive(&options, &mut progress, |driver| driver.measure_matrix(&plan, &place));
    let result = result.inspect_err(|_| {
        if folder.is_dir() {
            let folder = model::shown::quoted(&folder.to_string_lossy());
            progress.say(&format!("what was measured before: thrashlab show {folder}"));
        }
    })?;
    let (files, runs): (Vec<PathBuf>, Vec<model::Run>) = result.runs.into_iter().unzip();
    if runs.iter().any(model::Run::is_measured) || !result.interrupted {
        let shown = show::shaped(&runs, result.skipped, &args.shape)?;
        show::print_shaped(&shown, &args.shape, None)?;
    }
    progress.say(&format!("run files: {}", folder.display()));
    if !args.no_report && folder.is_dir() {
        let made = files.into_iter().zip(runs).collect();
        report::of_run(&folder, made, &measured, &progress);
    }
    if result.interrupted { Err(Failure::Interrupted) } else { Ok(()) }
}

/// A dose of 0 is the work of a provocation without its condition; of other loads it is nothing.
fn check_intensity(args: &RunArgs) -> Result<(), Failure> {
    let is_meant =
        !args.loads.is_empty() && args.loads.iter().all(|name| workloads::may_have_no_dose(name));
    match args.intensity == 0.0 && !is_meant {
        true => Err(Failure::WrongUse(anyhow!(
            "--intensity 0 is for loads that provoke a condition: --load provoke-NAME"
        ))),
        false => Ok(()),
    }
}

/// Refuses what is for machines that are measured where the subject is none.
fn check_place(args: &RunArgs) -> Result<(), Failure> {
    let instead = match &args.subject {
        Some(SubjectArg::Vm(_)) => "a guest has its own disk: vm:disk.size=SIZE,swap=SIZE",
        Some(SubjectArg::Mmu(_)) => "a simulated one writes no files but its results",
        Some(SubjectArg::Here(_) | SubjectArg::Remote(_)) | None => return Ok(()),
    };
    if args.resume {
        let why = "--resume is for machines that are measured; what is exactly repeatable is taken \
                   from the cache or run again";
        return Err(Failure::WrongUse(anyhow!(why)));
    }
    if args.lab.work_dir.is_some() || args.swap.is_some() {
        return Err(Failure::WrongUse(anyhow!(
            "--work-dir and --swap are for this machine; {instead}"
        )));
    }
    Ok(())
}

/// The plan that the arguments ask for.
fn plan(args: &RunArgs, measure: Measure) -> Result<MatrixPlan, Failure> {
    let all = workloads::loads().map(|load| load.name.to_owned());
    let chosen = match (args.loads.is_empty(), &measure) {
        (true, Measure::Probe(_)) => all.collect(),
        // Without a load a session measures the machine itself.
        _ => args.loads.clone(),
    };
    let mut loads: Vec<String> = Vec::new();
    for name in chosen {
        // The baseline is always there, and a load named twice is one load.
        if name != model::BASELINE && !loads.contains(&name) {
            loads.push(name);
        }
    }
    Ok(MatrixPlan {
        loads,
        measure,
        timing: args.timing.timing(args.subject.as_ref())?,
        intensity: args.intensity,
        seeds: args.seeds.as_ref().map_or_else(|| vec![args.seed], |seeds| seeds.0.clone()),
    })
}

/// A folder without runs: the one that was named, or a new one named by the time of day.
fn results_folder(args: &RunArgs, measure: &Measure) -> Result<PathBuf, Failure> {
    let Some(folder) = &args.output else {
        let stamp = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S");
        return Ok(store::results::default_folder().join(format!(
            "{stamp}-{}-{}",
            measure.name(),
            std::process::id()
        )));
    };
    if args.resume {
        return Ok(folder.clone());
    }
    let reason = match store::results::read_runs(folder) {
        _ if !folder.exists() => return Ok(folder.clone()),
        Err(StoreError::Empty { .. }) => return Ok(folder.clone()),
        _ if !folder.is_dir() => "is a file",
        // Whole or not: runs of two invocations in one folder would be read as one result.
        _ => "holds runs already",
    };
    Err(Failure::WrongUse(anyhow!(
        "{} {reason}; name a new folder with --output DIR",
        folder.display()
    )))
}
