//! Common to `run`, `experiment`, `sweep` and `bisect`: options, driver and errors.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;

use agent::Waiter;
use anyhow::Context;
use clap::Args;
use experiment::{Driver, DriverOptions, ExperimentError, PlanError};
use keep::open_patiently;
use model::units::exact_duration;
use vm::VmError;

use crate::guests;
use crate::progress::Progress;
use crate::{Failure, OrWrong, Result, settings};

#[derive(Args)]
pub(crate) struct LabArgs {
    #[command(flatten)]
    pub(crate) options: DriverOptions,

    /// Write events to this file as JSON lines (docs/python.md); /dev/fd/3 is file descriptor 3
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,

    /// No progress on standard error
    #[arg(long, short, display_order = 500)]
    pub(crate) quiet: bool,
}

impl LabArgs {
    pub(crate) fn progress(&self) -> Result<Progress> {
        let open = |path: &PathBuf| {
            let file =
                open_patiently(path, File::options().write(true).create(true).truncate(true));
            file.or_wrong(format!("--events {}", path.display()))
        };
        let events = self.events.as_ref().map(open).transpose()?;
        Ok(Progress::new(self.quiet, events))
    }

    /// The arguments that mean on a fleet what they mean here.
    pub(crate) fn of_fleet(&self) -> Vec<OsString> {
        arguments([
            ("--jobs", self.options.jobs.map(|jobs| jobs.to_string().into())),
            ("--wall-limit", Some(exact_duration(self.options.wall_limit).into())),
            ("--work-dir", self.options.work_dir.clone().map(OsString::from)),
        ])
    }
}

/// The options that have a value, with it.
pub(crate) fn arguments<const N: usize>(options: [(&str, Option<OsString>); N]) -> Vec<OsString> {
    let given = options.into_iter().filter_map(|(name, value)| Some([name.into(), value?]));
    given.flatten().collect()
}

/// Lets a driver work, with its events as progress. Signals are caught, so that Ctrl-C leaves
/// nothing behind.
pub(crate) fn drive<T>(
    options: &DriverOptions,
    progress: &mut Progress,
    work: impl FnOnce(&mut Driver<'_>) -> Result<T, ExperimentError>,
) -> Result<T> {
    drive_heard(options, progress, &mut |_| {}, work)
}

/// As [`drive`]; the events have one more receiver.
pub(crate) fn drive_heard<T>(
    options: &DriverOptions,
    progress: &mut Progress,
    hear: &mut (dyn FnMut(&experiment::Event<'_>) + Send),
    work: impl FnOnce(&mut Driver<'_>) -> Result<T, ExperimentError>,
) -> Result<T> {
    let waiter = Waiter::new().context("catch signals")?;
    let on_event = &mut |event: &experiment::Event<'_>| {
        hear(event);
        progress.on(event);
    };
    let mut options = options.clone();
    options.origins = settings::origins();
    let outcome = work(&mut Driver::new(&options, &waiter, on_event));
    progress.finish();
    outcome.map_err(|error| guests::stopped_or(&waiter, failure(error)))
}

pub(crate) fn failure(error: ExperimentError) -> Failure {
    match error {
        stop if stop.is_stop() => Failure::Interrupted,
        ExperimentError::Vm(error @ (VmError::KernelName(_) | VmError::Kernel(_))) => {
            guests::failure(error)
        }
        error @ (ExperimentError::Plan(PlanError::Problems(_))
        | ExperimentError::NotMeasured(_)) => Failure::NotMeasured(error.into()),
        error @ (ExperimentError::Plan(_) | ExperimentError::WrongUse(_)) => {
            Failure::WrongUse(error.into())
        }
        ExperimentError::Stage(error) => {
            Failure::NotMeasured(anyhow::Error::new(error).context("prepare the run"))
        }
        other => Failure::NotMeasured(anyhow::Error::new(other).context("measure")),
    }
}
