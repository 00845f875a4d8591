//! `thrashlab run`: the responsiveness matrix of one subject.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agent::{Freeze, Waiter};
use anyhow::{Context, anyhow};
use experiment::{
    Bench, DEFAULT, Engine, MatrixPlan, MatrixResult, RemoteArg, SubjectArg, run_ensemble,
    run_matrix,
};
use model::{Measure, MmuSpec, SubjectSpec, Timing};
use remote::{RemoteOptions, Session};
use store::StoreError;
use subject::{Asked, Stage, StageOptions};
use vm::{VmOptions, VmRequest};

use crate::args::RunArgs;
use crate::progress::Progress;
use crate::timing::{self, timing};
use crate::{Failure, guests, report, show};

/// One freeze a second, for the test hook.
const FREEZE_EVERY_NS: u64 = 1_000_000_000;

/// Makes the runs and prints the table.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    // Caught from here on, so that Ctrl-C never leaves anything behind.
    let waiter = Waiter::new().context("catch signals")?;
    let job = args.job.measure()?;
    if job.is_some() && args.shape.output_format().is_none() {
        return Err(Failure::WrongUse(anyhow!("--format resp1 is a form of a probe's results")));
    }
    check_intensity(args)?;
    let measure = job.unwrap_or_else(|| experiment::probe_measure(&args.probe));
    let folder = results_folder(args, &measure)?;
    let measured = measure.name().to_owned();
    let mut progress = Progress::new(args.quiet);
    let result = match &args.subject {
        Some(SubjectArg::Vm(request)) => {
            in_guests(args, measure, request, &folder, &waiter, &mut progress)
        }
        Some(SubjectArg::Mmu(mmu)) => {
            in_simulator(args, measure, mmu, &folder, &waiter, &mut progress)
        }
        Some(SubjectArg::Remote(remote)) => {
            on_remote(args, measure, remote, &folder, &waiter, &mut progress)
        }
        Some(SubjectArg::Here(asked)) => {
            on_stage(args, measure, Some(asked), &folder, &waiter, &mut progress)
        }
        None => on_stage(args, measure, None, &folder, &waiter, &mut progress),
    };
    progress.finish();
    let result = result.map_err(|failure| {
        if folder.is_dir() {
            let folder = model::shown::quoted(&folder.to_string_lossy());
            progress.say(&format!("what was measured before: thrashlab show {folder}"));
        }
        if waiter.stop_requested() { Failure::Interrupted } else { failure }
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

/// Makes the runs on this machine.
fn on_stage(
    args: &RunArgs,
    measure: Measure,
    asked: Option<&Asked>,
    folder: &Path,
    waiter: &Waiter,
    progress: &mut Progress,
) -> Result<MatrixResult, Failure> {
    let timing = timing(&args.timing, DEFAULT)?;
    let options = StageOptions {
        work_dir: args.work_dir.clone(),
        swap_bytes: args.swap,
        freeze: freeze(args),
        ..StageOptions::default()
    };
    let mut stage =
        Stage::set(&options, waiter).context("prepare the run").map_err(Failure::NotMeasured)?;
    for removed in &stage.swept.removed {
        progress.say(&format!("removed what a killed run had left: {removed}"));
    }
    for left in &stage.swept.failed {
        progress.say(&format!("what a killed run had left cannot be removed: {left}"));
    }
    let (subject, note) =
        subject::resolve(asked, &mut stage).map_err(|why| Failure::NotMeasured(anyhow!(why)))?;
    if let Some(note) = note {
        progress.say(&note);
    }
    if stage.works_in_memory() {
        progress.say(
            "the work directory lives in memory (tmpfs): the writing loads reach no disk; \
             name one on a disk with --work-dir",
        );
    }
    let plan = plan(args, measure, subject, timing);
    let mut bench = Bench::Stage(&mut stage);
    let result = run_matrix(&mut bench, &plan, folder, waiter, &mut |event| progress.on(event));
    for left in stage.remove_all() {
        progress.say(&format!("cannot be removed, the next start tries again: {left}"));
    }
    result.context("measure").map_err(Failure::NotMeasured)
}

/// Makes the runs on another machine.
fn on_remote(
    args: &RunArgs,
    measure: Measure,
    remote: &RemoteArg,
    folder: &Path,
    waiter: &Waiter,
    progress: &mut Progress,
) -> Result<MatrixResult, Failure> {
    let timing = timing(&args.timing, DEFAULT)?;
    let options = RemoteOptions {
        work_dir: args.work_dir.clone(),
        swap_bytes: args.swap,
        freeze: freeze(args),
        ..args.remote.options(folder)
    };
    let mut say = |text: &str| progress.say(text);
    let failed = |error| Failure::NotMeasured(anyhow::Error::new(error));
    let mut session = Session::open(&remote.address, &options, waiter, &mut say).map_err(failed)?;
    let asked = remote.subject.as_ref();
    let (subject, note) =
        session.prepare(asked, &BTreeMap::new(), waiter, &mut say).map_err(failed)?;
    if let Some(note) = note {
        progress.say(&format!("{}: {note}", remote.address));
    }
    let plan = plan(args, measure, subject, timing);
    let mut bench = Bench::Remote(&mut session);
    let result = run_matrix(&mut bench, &plan, folder, waiter, &mut |event| progress.on(event));
    for left in session.close(waiter) {
        progress.say(&format!("cannot be removed, the next start tries again: {left}"));
    }
    result.context("measure").map_err(Failure::NotMeasured)
}

/// Makes the runs in guests of the deterministic machine.
fn in_guests(
    args: &RunArgs,
    measure: Measure,
    request: &VmRequest,
    folder: &Path,
    waiter: &Waiter,
    progress: &mut Progress,
) -> Result<MatrixResult, Failure> {
    not_of_this_machine(args, "a guest has its own disk: vm:disk.size=SIZE,swap=SIZE")?;
    let timing = timing(&args.timing, timing::of_machine(request)?)?;
    let spec = guests::spec(request, progress)?;
    let options = VmOptions { freeze: freeze(args), ..guests::options(&args.guests) };
    let vm = guests::prepare(&spec, &options, waiter, progress)?;
    let jobs = guests::jobs(&args.guests, &spec);
    let plan = plan(args, measure, SubjectSpec::Vm(Box::new(spec)), timing);
    run_ensemble(Engine::Guest(&vm), &plan, jobs, folder, waiter, &mut |event| progress.on(event))
        .context("measure")
        .map_err(Failure::NotMeasured)
}

/// Simulates the runs.
fn in_simulator(
    args: &RunArgs,
    measure: Measure,
    mmu: &MmuSpec,
    folder: &Path,
    waiter: &Waiter,
    progress: &mut Progress,
) -> Result<MatrixResult, Failure> {
    not_of_this_machine(args, "a simulated one writes no files but its results")?;
    let timing = timing(&args.timing, DEFAULT)?;
    let jobs = guests::jobs_of(&args.guests, 0);
    let plan = plan(args, measure, SubjectSpec::Mmu(Box::new(mmu.clone())), timing);
    run_ensemble(Engine::Simulator(None), &plan, jobs, folder, waiter, &mut |event| {
        progress.on(event)
    })
    .context("simulate")
    .map_err(Failure::NotMeasured)
}

/// Refuses what is for this machine only; `instead` says what another one has.
fn not_of_this_machine(args: &RunArgs, instead: &str) -> Result<(), Failure> {
    if args.resume {
        let why = "--resume is for machines that are measured; what is exactly repeatable is taken \
                   from the cache or made again";
        return Err(Failure::WrongUse(anyhow!(why)));
    }
    if args.work_dir.is_some() || args.swap.is_some() {
        return Err(Failure::WrongUse(anyhow!(
            "--work-dir and --swap are for this machine; {instead}"
        )));
    }
    Ok(())
}

fn freeze(args: &RunArgs) -> Option<Freeze> {
    args.test_freeze.map(|freeze_ns| Freeze { freeze_ns, every_ns: FREEZE_EVERY_NS })
}

/// The plan that the arguments ask for.
fn plan(args: &RunArgs, measure: Measure, subject: SubjectSpec, timing: Timing) -> MatrixPlan {
    let all = workloads::loads().map(|load| load.name.to_owned());
    let chosen = match (args.loads.is_empty(), &measure) {
        (true, Measure::Probe(_)) => all.collect(),
        // Without a load a session tells about the machine itself.
        _ => args.loads.clone(),
    };
    let mut names: Vec<String> = Vec::new();
    for name in chosen {
        // The baseline is always there, and a load named twice is one load.
        if name != model::BASELINE && !names.contains(&name) {
            names.push(name);
        }
    }
    MatrixPlan {
        subject,
        loads: names,
        measure,
        timing,
        intensity: args.intensity,
        seeds: args.seeds.as_ref().map_or_else(|| vec![args.seed], |seeds| seeds.0.clone()),
    }
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
