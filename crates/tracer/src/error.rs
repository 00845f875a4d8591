//! Why a program cannot be recorded.

use std::io;

use thiserror::Error;
use trace::TraceError;

/// Why a program cannot be recorded.
#[derive(Debug, Error)]
pub enum TracerError {
    /// There is no such program, or the emulator cannot run it.
    #[error("{0}")]
    NoProgram(String),
    /// The recorder is unavailable or did not start.
    #[error("{0}")]
    NoRecorder(String),
    /// The trace cannot be written, or the program's references not be read.
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

/// Adds what was tried to an error of the system.
pub(crate) fn at<E: Into<io::Error>>(what: &'static str) -> impl Fn(E) -> TracerError {
    move |source| TracerError::System { what, source: source.into() }
}
