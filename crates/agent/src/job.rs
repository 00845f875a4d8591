//! A run that does a job: which kind of job it is.

use std::io::Write;

use jobs::MemoryJob;
use model::{EndStatus, JobSpec};

use crate::assignment::Assignment;
use crate::error::AgentError;
use crate::{job_session, memory_job};

/// Makes the run.
///
/// # Errors
/// As [`crate::run`].
pub(crate) fn run(
    assignment: &Assignment,
    load: &'static loads::Desc,
    asked: &JobSpec,
    out: impl Write,
) -> Result<EndStatus, AgentError> {
    let job = jobs::find(&asked.name).ok_or_else(|| AgentError::UnknownJob(asked.name.clone()))?;
    match MemoryJob::new(asked).map_err(AgentError::Job)? {
        Some(work) => memory_job::run(assignment, load, (job, asked), &work, out),
        None => job_session::run(assignment, load, (job, asked), out),
    }
}
