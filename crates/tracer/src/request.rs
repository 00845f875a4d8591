//! What is to be recorded, and how a recording ended.

use std::ffi::OsString;

use sys::process::Exit;

/// What is to be recorded.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The command and its arguments.
    pub command: &'a [OsString],
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
