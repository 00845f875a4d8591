//! Why a program cannot be recorded.

use std::io;

use thiserror::Error;
use trace::TraceError;

/// Why a program cannot be recorded.
#[derive(Debug, Error)]
pub enum TracerError {
    /// There is no program of this name.
    #[error("{0}: no such program; is it in a directory of PATH?")]
    NoProgram(String),
    /// The program is there, but not for the emulator.
    #[error("{path}: cannot be recorded: {reason}")]
    NotHere {
        /// The program.
        path: String,
        /// What is in the way.
        reason: String,
    },
    /// There is no QEMU.
    #[error("{0} is not installed: apt-get install qemu-user (or valgrind, which is slow)")]
    NoEmulator(String),
    /// The plugin did not come up.
    #[error(
        "{emulator} did not load our plugin (what it says is above); the plugin is for QEMU 5 to 8"
    )]
    NotLoaded {
        /// Name and version of the emulator.
        emulator: String,
    },
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
