//! The cleanup process: a small process of its own session that waits until the one that started it
//! ends, however that ends, and then removes what it left.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use sys::process::spawn_detached;

use crate::marked::end_marked;
use crate::removal::sweep;

/// Name of the hidden command that calls [`serve`].
pub const COMMAND: &str = "__cleanup";

/// What a cleanup process does when the one that started it has ended.
#[derive(Clone, Debug)]
pub enum Duty {
    /// Removes what a journal says still exists.
    Journal(PathBuf),
    /// Ends the processes with a mark in their environment.
    Marked(String),
}

impl Duty {
    fn arguments(&self) -> [OsString; 2] {
        match self {
            Self::Journal(path) => ["journal".into(), path.into()],
            Self::Marked(mark) => ["marked".into(), mark.into()],
        }
    }

    fn parse(arguments: &[OsString]) -> Option<Self> {
        match arguments {
            [kind, path] if kind == "journal" => Some(Self::Journal(path.into())),
            [kind, mark] if kind == "marked" => Some(Self::Marked(mark.to_str()?.to_owned())),
            _ => None,
        }
    }
}

/// A running cleanup process, as the one that started it sees it.
#[derive(Debug)]
pub struct CleanupProcess {
    child: Child,
}

impl CleanupProcess {
    /// Starts one; `program` is this program. Fails when this program cannot be started again.
    pub fn start(program: &Path, duty: &Duty) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg(COMMAND).args(duty.arguments());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { child: spawn_detached(&mut command)? })
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for CleanupProcess {
    fn drop(&mut self) {
        // It looks when the pipe is closed; there is nothing left, so it ends at once.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The cleanup process's own side: waits until its standard input ends, then does its duty.
pub fn serve(arguments: &[OsString]) -> Result<(), String> {
    let duty = Duty::parse(arguments).ok_or("it is used by thrashlab itself")?;
    let mut input = io::stdin().lock();
    let mut bytes = [0; 16];
    // Nothing is ever written: the read returns when the other process is gone.
    while matches!(input.read(&mut bytes), Ok(count) if count > 0) {}
    // Nobody is left to be told of a failure; the next start tries again.
    match duty {
        Duty::Journal(path) => drop(sweep(&path)),
        Duty::Marked(mark) => drop(end_marked(&mark)),
    }
    Ok(())
}
