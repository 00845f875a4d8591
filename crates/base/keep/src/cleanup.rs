//! The cleanup process, in its own session: it waits for its starter's end and removes the rest.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use sys::process::spawn_detached;

use crate::agent_program::AgentProgram;
use crate::marked::end_marked;
use crate::removal::sweep;

/// First argument of the agent that makes it a cleanup process.
pub const CLEANUP_ROLE: &str = "cleanup";
const JOURNAL: &str = "journal";
const MARKED: &str = "marked";

/// What a cleanup process does when the one that started it has ended.
#[derive(Clone, Debug)]
pub enum Duty {
    /// Removes what still exists according to a journal.
    Journal(PathBuf),
    /// Ends the processes with a mark in their environment.
    Marked(String),
}

/// A running cleanup process, as the one that started it sees it.
#[derive(Debug)]
pub struct CleanupProcess {
    child: Child,
}

impl CleanupProcess {
    /// Starts one; `program` is the agent. Fails when it cannot be started.
    pub fn start(program: &AgentProgram, duty: &Duty) -> io::Result<Self> {
        let mut command = program.command(CLEANUP_ROLE);
        match duty {
            Duty::Journal(path) => command.arg(JOURNAL).arg(path),
            Duty::Marked(mark) => command.args([MARKED, mark]),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { child: spawn_detached(&mut command)? })
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for CleanupProcess {
    fn drop(&mut self) {
        // It ends once the pipe is closed.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The cleanup process's own side: waits until its standard input ends, then does its duty.
pub fn serve(arguments: &[OsString]) -> Result<(), String> {
    let duty = match arguments {
        [kind, path] if kind == JOURNAL => Some(Duty::Journal(path.into())),
        // A mark that is not UTF-8 is not one of ours: nothing may be ended by what resembles it.
        [kind, mark] if kind == MARKED => mark.to_str().map(|mark| Duty::Marked(mark.to_owned())),
        _ => None,
    };
    let duty = duty.ok_or("it is used by thrashlab itself")?;
    let mut input = io::stdin().lock();
    let mut bytes = [0; 16];
    // Nothing is ever written: the read returns when the starter is gone.
    while matches!(input.read(&mut bytes), Ok(count) if count > 0) {}
    // No process is left to report a failure to; the next start tries again.
    match duty {
        Duty::Journal(path) => drop(sweep(&path)),
        Duty::Marked(mark) => drop(end_marked(&mark)),
    }
    Ok(())
}
