//! Why a program cannot be recorded.

use std::io;

use thiserror::Error;
use trace::TraceError;

/// Why a program cannot be recorded.
#[derive(Debug, Error)]
pub enum TracerError {
    /// There is no such program, or it is not for the emulator.
    #[error("{0}")]
    NoProgram(String),
    /// What records it is not there or did not come up.
    #[error("{0}")]
    NoRecorder(String),
    /// The trace cannot be written, or what comes from the program not be read.
    #[error("the trace: {0}")]
    Trace(#[from] TraceError),
    /// The system refused something.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The reason.
        source: io::Error,
    },
}

/// Says what was tried when the system refused.
pub(crate) fn at<E: Into<io::Error>>(what: &'static str) -> impl Fn(E) -> TracerError {
    move |source| TracerError::System { what, source: source.into() }
}
