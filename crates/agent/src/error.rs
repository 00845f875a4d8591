//! Why nothing could be measured.

use std::io;

/// A run that could not be made at all.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The spec names a load that this build does not have.
    #[error("no load is named {0:?}")]
    UnknownLoad(String),
    /// The spec names a probe that this build does not have.
    #[error("no probe is named {0:?}")]
    UnknownProbe(String),
    /// The spec names a job that this build does not have.
    #[error("no job is named {0:?}")]
    UnknownJob(String),
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
