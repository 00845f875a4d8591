//! What all drivers share: options, the user's wish to stop, and the listener to events.

use std::path::Path;

use agent::Waiter;
use subject::Machine;

use crate::carry_out::{Carried, carry_out};
use crate::error::ExperimentError;
use crate::event::{Event, Listener};
use crate::laboratory::Laboratory;
use crate::options::DriverOptions;
use crate::plan::Plan;

/// Carries out plans and matrices: sets up what they need, makes the runs, and cleans up.
pub struct Driver<'a> {
    /// How runs are made.
    pub options: &'a DriverOptions,
    /// The user's wish to stop.
    pub waiter: &'a Waiter,
    /// Hears what happens.
    pub on_event: &'a mut Listener<'a>,
}

impl Driver<'_> {
    /// Tells the listener something that the user should know.
    pub fn note(&mut self, text: &str) {
        (self.on_event)(&Event::Note { text });
    }

    /// Makes everything ready that a plan needs; `folder` is where its paths begin.
    ///
    /// # Errors
    /// As [`Laboratory::set_up`].
    pub fn set_up(&mut self, plan: &Plan, folder: &Path) -> Result<Laboratory, ExperimentError> {
        let (options, waiter, on_event) = (self.options, self.waiter, &mut *self.on_event);
        let mut say = |text: &str| on_event(&Event::Note { text });
        Laboratory::set_up(plan, folder, options, waiter, &mut say)
    }

    /// Makes the runs that a folder does not have yet, and removes what was made for them.
    ///
    /// # Errors
    /// As [`ExperimentError`] says; that the user stopped it is part of the result.
    pub fn carry_out(
        &mut self,
        lab: &mut Laboratory,
        folder: &Path,
    ) -> Result<Carried, ExperimentError> {
        let jobs = self.jobs(lab.machines.largest_guest_bytes());
        let carried = carry_out(lab, jobs, folder, self.waiter, self.on_event);
        self.close(lab);
        carried
    }

    /// Removes what was made for a laboratory.
    pub(crate) fn close(&mut self, lab: &mut Laboratory) {
        for left in lab.machines.close(self.waiter) {
            self.note(&format!("cannot be removed, the next start tries again: {left}"));
        }
    }

    /// How many guests of at most this memory run at a time.
    #[must_use]
    pub fn jobs(&self, largest_bytes: Option<u64>) -> usize {
        let cpus = sys::process::usable_cpus() as usize;
        let guest_bytes = largest_bytes.unwrap_or(0).max(1);
        let fitting = Machine::read()
            .map_or(cpus, |machine| (machine.available_bytes / 2 / guest_bytes) as usize);
        self.options.jobs.unwrap_or_else(|| cpus.min(fitting).max(1))
    }
}
