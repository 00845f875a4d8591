//! Why nothing could be measured.

use std::io;

/// A run that could not be made at all.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The spec names a workload that this build does not have.
    #[error("no {kind} is named {name:?}")]
    Unknown {
        /// A load, a probe or a job.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// The load cannot run on this subject.
    #[error("{0}")]
    Unsupported(String),
    /// The prober cannot be made.
    #[error("the probe cannot start: {0}")]
    Probe(String),
    /// The job cannot be done on this subject.
    #[error("the job cannot start: {0}")]
    Job(String),
    /// The output is gone, or a process cannot be started.
    #[error(transparent)]
    Io(#[from] io::Error),
}
