//! The laboratory as `experiment` and `bisect` use it: set up, carry out, and what went wrong.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use agent::Waiter;
use clap::Args;
use experiment::{Carried, ExperimentError, LabOptions, Laboratory, Plan, PlanError, carry_out};
use keep::Cells;
use model::units::exact_duration;
use vm::VmError;

use crate::guests::GuestArgs;
use crate::progress::Progress;
use crate::remote_args::RemoteArgs;
use crate::{Failure, guests};

/// Where and how the runs of a plan are made.
#[derive(Args)]
pub(crate) struct LabArgs {
    #[command(flatten)]
    guests: GuestArgs,

    #[command(flatten)]
    remote: RemoteArgs,

    /// Folder on a disk for the files of loads and measures; with ssh:// there, with --fleet on
    /// the nodes [default: /var/tmp/thrashlab-UID]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,

    /// Folder of finished cells to take from and add to, simulations too, instead of the user's
    /// cache of guests
    #[arg(long, value_name = "DIR", conflicts_with = "no_cache")]
    cells: Option<PathBuf>,
}

impl LabArgs {
    /// Makes everything that a plan needs; `folder` is that of the plan.
    pub(crate) fn set_up(
        &self,
        plan: &Plan,
        folder: &Path,
        waiter: &Waiter,
        progress: &Progress,
    ) -> Result<Laboratory, ExperimentError> {
        let cells = self.cells.clone().map(Cells::at);
        let mut guests = guests::options(&self.guests);
        if let Some(cells) = &cells {
            guests.cache = guests.cache.with_cells(cells.clone());
        }
        let options = LabOptions {
            folder: folder.to_owned(),
            guests,
            work_dir: self.work_dir.clone(),
            remote: self.remote.options(folder),
            simulated: cells,
        };
        guests::while_waiting(waiter, |stop| {
            Laboratory::set_up(plan, &options, waiter, stop, &mut |text| progress.say(text))
        })
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

    /// How many guests run at a time.
    pub(crate) fn jobs(&self, lab: &Laboratory) -> usize {
        guests::jobs_of(&self.guests, lab.largest_machine_bytes().unwrap_or(0))
    }

    /// Makes the runs that a folder does not have yet, and removes what was made for them.
    pub(crate) fn carry_out(
        &self,
        lab: &mut Laboratory,
        folder: &Path,
        waiter: &Waiter,
        progress: &mut Progress,
    ) -> Result<Carried, ExperimentError> {
        let jobs = self.jobs(lab);
        let carried = carry_out(lab, jobs, folder, waiter, &mut |event| progress.on(event));
        for left in lab.strike(waiter) {
            progress.say(&format!("cannot be removed, the next start tries again: {left}"));
        }
        carried
    }
}

/// An error of a laboratory as the failure of a command.
pub(crate) fn failure(error: ExperimentError, waiter: &Waiter) -> Failure {
    let failure = match error {
        ExperimentError::Vm(VmError::Interrupted) => Failure::Interrupted,
        ExperimentError::Plan(error @ PlanError::Problems(_)) => {
            Failure::NotMeasured(anyhow::Error::new(error))
        }
        ExperimentError::Plan(error) => Failure::WrongUse(error.into()),
        other => Failure::NotMeasured(anyhow::Error::new(other).context("measure")),
    };
    guests::stopped_or(waiter, failure)
}
