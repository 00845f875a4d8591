//! The specs of jobs, and the longest that a job may take.

use jobs::{Job, MemoryJob, Number};
use model::{JobSpec, Script};

use crate::metric::metrics;
use crate::service::service;
use crate::{Work, Workload, command};

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

/// Fails when a job's commands, their service or the figures that they print are not understood.
pub fn check_command(job: &JobSpec) -> Result<(), String> {
    command::commands(job)?;
    service(job)?;
    metrics(job).map(drop)
}

/// The longest that a job may take, in ns, without the time that its load needs.
pub fn longest_ns(job: &JobSpec) -> u64 {
    match MemoryJob::new(job) {
        _ if job.is_command() => command::longest_ns(job),
        Ok(Some(memory)) => memory.making_ns().saturating_add(memory.limit_ns()),
        _ => job.script.as_ref().map_or(0, Script::longest_pass_ns),
    }
}
