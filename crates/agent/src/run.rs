//! One run from its assignment to its last line: which way it goes.

use std::io::Write;

use model::{EndStatus, Measure};
use workloads::{MemoryJob, find_job, find_load, find_probe};

use crate::assignment::{AgentError, Assignment};
use crate::{memory_job, probing, session};

/// Runs an assignment and writes its lines to `out`. The calling process, with a single thread,
/// becomes the observer. Fails when nothing could be measured; later errors are lines of the run.
pub fn run(assignment: &Assignment, out: impl Write) -> Result<EndStatus, AgentError> {
    let unknown = |kind, name: &str| AgentError::Unknown(kind, name.to_owned());
    let load = &assignment.spec.load.name;
    let load = find_load(load).ok_or_else(|| unknown("load", load))?;
    match &assignment.spec.measure {
        Measure::Probe(asked) => {
            let probe = find_probe(&asked.name).ok_or_else(|| unknown("probe", &asked.name))?;
            probing::run(assignment, load, probe, out)
        }
        Measure::Job(asked) => {
            let job = find_job(&asked.name).ok_or_else(|| unknown("job", &asked.name))?;
            match MemoryJob::new(asked).map_err(AgentError::Job)? {
                Some(work) => memory_job::run(assignment, load, (job, asked), &work, out),
                None => session::run(assignment, load, (job, asked), out),
            }
        }
    }
}
