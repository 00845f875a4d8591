//! The warden: a small process of its own session that waits for its controller to die, and then
//! removes what the journal says still exists.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use sys::process::spawn_detached;

use crate::sweep::sweep;

/// Name of the hidden command that runs [`watch`].
const COMMAND: &str = "__warden";

/// A running warden, as its controller sees it.
#[derive(Debug)]
pub(crate) struct Warden {
    child: Child,
}

impl Warden {
    /// Starts a warden over a journal.
    ///
    /// # Errors
    /// When this program cannot be started again.
    pub(crate) fn start(program: &Path, journal: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg(COMMAND).arg(journal);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { child: spawn_detached(&mut command)? })
    }

    /// Whether it still watches.
    pub(crate) fn alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        // Closing the pipe tells the warden to look; there is nothing left, so it ends at once.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The warden's own side: waits until its standard input ends, then sweeps the journal.
pub fn watch(journal: &Path) {
    let mut input = io::stdin().lock();
    let mut bytes = [0; 16];
    // Nothing is ever written: the read returns when the controller is gone, however it went.
    while matches!(input.read(&mut bytes), Ok(count) if count > 0) {}
    sweep(journal);
}
