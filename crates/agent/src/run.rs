//! One run from its assignment to its last line: which way it goes.

use std::io::Write;

use model::{EndStatus, Measure};

use crate::assignment::Assignment;
use crate::error::AgentError;
use crate::{job, probing};

/// Makes one run and writes its lines to `out`.
///
/// Takes the calling process for its observer: it must have a single thread.
///
/// # Errors
/// When nothing could be measured; whatever happens after the header is written is a line of the
/// run and not an error.
pub fn run(assignment: &Assignment, out: impl Write) -> Result<EndStatus, AgentError> {
    let spec = &assignment.spec;
    let load = loads::find(&spec.load.name)
        .ok_or_else(|| AgentError::UnknownLoad(spec.load.name.clone()))?;
    match &spec.measure {
        Measure::Probe(probe) => probing::run(assignment, load, probe, out),
        Measure::Job(spec) => job::run(assignment, load, spec, out),
    }
}
