//! `thrashlab run`: the responsiveness matrix of one subject.

use std::path::PathBuf;

use agent::{Freeze, Waiter};
use anyhow::{Context, anyhow};
use experiment::{CLASSIC, DEFAULT, MatrixPlan, Profile, QUICK, run_matrix};
use model::Timing;
use model::units::format_duration;
use subject::{Stage, StageOptions};

use crate::args::RunArgs;
use crate::progress::Progress;
use crate::{Failure, print, show, subject_arg};

/// One freeze a second, for the test hook.
const FREEZE_EVERY_NS: u64 = 1_000_000_000;

/// Makes the runs and prints the table.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    // Caught from here on, so that Ctrl-C never leaves anything behind.
    let waiter = Waiter::new().context("catch signals")?;
    let folder = results_folder(args)?;
    let mut stage = Stage::set(&StageOptions {
        work_dir: args.work_dir.clone(),
        swap_bytes: args.swap,
        freeze: args.test_freeze.map(|freeze_ns| Freeze { freeze_ns, every_ns: FREEZE_EVERY_NS }),
    })
    .context("prepare the run")?;
    let mut progress = Progress::new(args.quiet);
    for removed in &stage.swept {
        progress.say(&format!("removed what a killed run had left: {removed}"));
    }
    let plan = plan(args, &mut stage, &mut progress)?;
    let result = run_matrix(&mut stage, &plan, &folder, &waiter, &mut |event| progress.on(event))
        .context("measure")?;
    drop(stage);
    progress.finish();
    let runs: Vec<model::Run> = result.runs.into_iter().map(|(_, run)| run).collect();
    if runs.iter().any(|run| run.samples().next().is_some()) || !result.interrupted {
        let matrix = report::analyse(&runs, result.skipped);
        print(&show::shaped(&matrix, &args.shape)?)?;
    }
    progress.say(&format!("run files: {}", folder.display()));
    if result.interrupted { Err(Failure::Interrupted) } else { Ok(()) }
}

/// The plan that the arguments ask for.
fn plan(args: &RunArgs, stage: &mut Stage, progress: &mut Progress) -> Result<MatrixPlan, Failure> {
    let (subject, note) =
        subject_arg::resolve(args.subject.as_ref(), stage).map_err(Failure::NotMeasured)?;
    if let Some(note) = note {
        progress.say(&note);
    }
    if stage.works_in_memory() {
        progress.say(
            "the work directory lives in memory (tmpfs): the writing loads reach no disk; \
             name one on a disk with --work-dir",
        );
    }
    let all = loads::ALL.iter().map(|load| load.name.to_owned());
    let chosen = if args.loads.is_empty() { all.collect() } else { args.loads.clone() };
    let mut names: Vec<String> = Vec::new();
    for name in chosen {
        // The baseline is always there, and a load named twice is one load.
        if name != "noload" && !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(MatrixPlan {
        subject,
        loads: names,
        probe: args.probe.clone(),
        timing: timing(args)?,
        intensity: args.intensity,
        seed: args.seed,
    })
}

fn timing(args: &RunArgs) -> Result<Timing, Failure> {
    let profile: Profile = match (args.classic, args.quick) {
        (true, _) => CLASSIC,
        (_, true) => QUICK,
        _ => DEFAULT,
    };
    let mut timing = profile.timing();
    let changes = [
        (args.interval, &mut timing.interval_ns),
        (args.warmup, &mut timing.warmup_ns),
        (args.timeout, &mut timing.timeout_ns),
    ];
    let mut custom = args.points.is_some();
    for (wanted, value) in changes {
        if let Some(wanted) = wanted {
            *value = wanted;
            custom = true;
        }
    }
    timing.points = args.points.unwrap_or(timing.points);
    if custom {
        timing.profile = "custom".to_owned();
    }
    let smallest_ns = 1_000_000;
    if timing.interval_ns < smallest_ns || timing.timeout_ns < smallest_ns {
        let least = format_duration(smallest_ns);
        return Err(Failure::WrongUse(anyhow!("--interval and --timeout are at least {least}")));
    }
    Ok(timing)
}

/// A folder without runs: the one that was named, or a new one named by the time of day.
fn results_folder(args: &RunArgs) -> Result<PathBuf, Failure> {
    let Some(folder) = &args.output else {
        let stamp = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S");
        return Ok(store::results::default_folder().join(format!(
            "{stamp}-{}-{}",
            args.probe,
            std::process::id()
        )));
    };
    if store::results::read_runs(folder).is_ok() {
        return Err(Failure::WrongUse(anyhow!(
            "{} holds runs already; name a new folder with --output DIR",
            folder.display()
        )));
    }
    Ok(folder.clone())
}
