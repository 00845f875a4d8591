//! What `run`, `experiment`, `sweep` and `bisect` have in common: where and how runs are made, and
//! what went wrong.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use agent::Waiter;
use anyhow::Context;
use clap::Args;
use experiment::{Driver, DriverOptions, ExperimentError, PlanError};
use keep::Cells;
use model::units::exact_duration;
use remote::RemoteError;
use vm::VmError;

use crate::Failure;
use crate::guests::{self, GuestArgs};
use crate::progress::Progress;
use crate::remote_args::RemoteArgs;

/// Where and how runs are made.
#[derive(Args)]
pub(crate) struct LabArgs {
    #[command(flatten)]
    guests: GuestArgs,

    #[command(flatten)]
    remote: RemoteArgs,

    /// Folder on a disk for the files of loads and measures; with ssh:// there, with --fleet on
    /// the nodes [default: /var/tmp/thrashlab-UID]
    #[arg(long, value_name = "DIR")]
    pub(crate) work_dir: Option<PathBuf>,

    /// Folder of finished cells to take from and add to, simulations too, instead of the user's
    /// cache of guests
    #[arg(long, value_name = "DIR", conflicts_with = "no_cache")]
    cells: Option<PathBuf>,

    /// Write what happens to this file as JSON lines, an event each (docs/python.md); /dev/fd/3 is
    /// file descriptor 3
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
}

impl LabArgs {
    /// The display of what happens, with events in a file if there is to be one.
    pub(crate) fn progress(&self, quiet: bool) -> Result<Progress, Failure> {
        let open = |path: &PathBuf| {
            let file = File::create(path);
            file.with_context(|| format!("--events {}", path.display())).map_err(Failure::WrongUse)
        };
        let events = self.events.as_ref().map(open).transpose()?;
        Ok(Progress::new(quiet).with_events(events))
    }

    /// The options of a driver.
    pub(crate) fn options(&self) -> DriverOptions {
        let simulated = self.cells.clone().map(Cells::at);
        let mut guests = guests::options(&self.guests);
        if let Some(cells) = &simulated {
            guests.cache = guests.cache.with_cells(cells.clone());
        }
        DriverOptions {
            guests,
            jobs: self.guests.jobs.map(usize::from),
            work_dir: self.work_dir.clone(),
            remote: self.remote.options(Path::new("")),
            simulated,
            freeze: None,
        }
    }

    /// The arguments that mean on a fleet what they mean here.
    pub(crate) fn of_fleet(&self) -> Vec<OsString> {
        let mut passed: Vec<OsString> = Vec::new();
        if let Some(jobs) = self.guests.jobs {
            passed.extend(["--jobs".into(), jobs.to_string().into()]);
        }
        passed.extend(["--wall-limit".into(), exact_duration(self.guests.wall_limit).into()]);
        if let Some(folder) = &self.work_dir {
            passed.extend(["--work-dir".into(), folder.into()]);
        }
        passed
    }
}

/// Lets a driver work, with its events as progress. Signals are caught from here on, so that Ctrl-C
/// never leaves anything behind.
pub(crate) fn drive<T>(
    options: &DriverOptions,
    progress: &mut Progress,
    work: impl FnOnce(&mut Driver<'_>) -> Result<T, ExperimentError>,
) -> Result<T, Failure> {
    let waiter = Waiter::new().context("catch signals")?;
    let on_event = &mut |event: &experiment::Event<'_>| progress.on(event);
    let outcome = work(&mut Driver { options, waiter: &waiter, on_event });
    progress.finish();
    outcome.map_err(|error| guests::stopped_or(&waiter, failure(error)))
}

/// An error of a driver as the failure of a command.
pub(crate) fn failure(error: ExperimentError) -> Failure {
    match error {
        ExperimentError::Interrupted
        | ExperimentError::Remote(RemoteError::Interrupted)
        | ExperimentError::Vm(VmError::Interrupted) => Failure::Interrupted,
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
