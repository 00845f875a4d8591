//! What is to be recorded, how a recording ended, and why there is none.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::process::Command;

use keep::running::Running;
use sys::process::Exit;
use thiserror::Error;
use trace::TraceError;

/// What is to be recorded.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The command and its arguments.
    pub command: &'a [OsString],
    /// Its standard input; `None` is that of this process.
    pub input: Option<&'a File>,
    /// Whether instruction fetches are recorded too.
    pub fetches: bool,
    /// Whether pages are enough: no single references, and fetches block by block.
    pub pages: bool,
    /// What records it; `None` for QEMU, or valgrind where there is no QEMU.
    pub tool: Option<Tool>,
}

/// What records a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// QEMU user mode with our plugin.
    Qemu,
    /// Valgrind's tool lackey: a hundred times slower, and only the first process.
    Valgrind,
}

/// How a recording ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How the command ended.
    pub exit: Exit,
    /// How many processes were recorded.
    pub processes: u32,
    /// How many threads, those of all processes together.
    pub threads: u32,
    /// What could not be recorded, with the reason, the first of it.
    pub missed: Vec<String>,
    /// Whether a signal to this process ended the recording before the command ended.
    pub interrupted: bool,
}

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

impl Request<'_> {
    /// Starts what records the command; `open` as in [`Running::start`].
    pub(crate) fn run(
        &self,
        recorder: &mut Command,
        open: impl FnOnce() -> io::Result<()>,
    ) -> Result<Running, TracerError> {
        let what = "start the recorder";
        if let Some(input) = self.input {
            recorder.stdin(input.try_clone().map_err(at(what))?);
        }
        let agent = instrument::program().map_err(at(what))?;
        Running::start(recorder, agent, open).map_err(at(what))
    }
}

/// Adds what was tried to an error of the system.
pub(crate) fn at<E: Into<io::Error>>(what: &'static str) -> impl Fn(E) -> TracerError {
    move |source| TracerError::System { what, source: source.into() }
}
