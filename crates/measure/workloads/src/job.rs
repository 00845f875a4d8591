//! The specs of jobs, and the longest that a job may take.

use jobs::{Job, MemoryJob, Number};
use model::{CommandSpec, JobSpec, Measure, Timing};

use crate::command::{commands, longest_command_ns};
use crate::metric::metrics;
use crate::service::service;
use crate::{Work, Workload};

impl Workload {
    /// A job of the catalogue.
    pub(crate) const fn of_job(job: Job) -> Self {
        let Job { name, version, about, params, measures } = job;
        Self { name, version, about, params, measures, ..Self::new(Work::Job) }
    }

    fn job(&self) -> Job {
        let Self { name, version, about, params, measures, .. } = *self;
        Job { name, version, about, params, measures }
    }

    /// A parameter that can be set to a number.
    pub fn number(&self, name: &str) -> Option<&'static Number> {
        self.job().number(name)
    }

    /// The job with default parameters.
    pub fn spec(&self) -> JobSpec {
        self.job().spec()
    }

    /// Sets a parameter of a job. Fails, with the valid ones, for an unknown parameter or value.
    pub fn set(&self, job: &mut JobSpec, name: &str, value: &str) -> Result<(), String> {
        self.job().set(job, name, value)
    }
}

/// Fails when the commands, their service or the figures that they print are not understood.
pub fn check_command(command: &CommandSpec) -> Result<(), String> {
    commands(command)?;
    service(command)?;
    metrics(command).map(drop)
}

/// The longest time that what is measured may take, in ns, without the time that its load needs.
pub fn longest_ns(measure: &Measure, timing: &Timing) -> u64 {
    match measure {
        Measure::Probe(_) => timing.interval_ns.saturating_mul(u64::from(timing.points)),
        Measure::Command(command) => longest_command_ns(command),
        Measure::Session(session) => session.script.longest_pass_ns(),
        Measure::Memory(job) => MemoryJob::new(job)
            .map_or(0, |memory| memory.making_ns().saturating_add(memory.limit_ns())),
    }
}
