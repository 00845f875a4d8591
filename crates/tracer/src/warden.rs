//! The warden: a small process of its own session that waits for the recorder to die, and then
//! ends what it had traced.
//!
//! The kernel ends the first process by itself (`PR_SET_PDEATHSIG`), but not those that it forked.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};

use sys::marked::end_marked;
use sys::process::spawn_detached;

/// Name of the hidden command that calls [`watch`].
pub const WARDEN_COMMAND: &str = "__trace-warden";

/// A running warden; told to look, and waited for, when dropped.
#[derive(Debug)]
pub(crate) struct Warden {
    child: Child,
}

impl Warden {
    /// Starts a warden over the processes with a mark.
    ///
    /// # Errors
    /// When this program cannot be started again.
    pub(crate) fn start(mark: &str) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([WARDEN_COMMAND, mark]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { child: spawn_detached(&mut command)? })
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It ends by itself; that it cannot be waited for changes nothing.
        let _ = self.child.wait();
    }
}

/// The warden's own side: waits until its standard input ends, then ends all processes with the
/// mark.
pub fn watch(mark: &str) {
    let mut input = io::stdin().lock();
    let mut bytes = [0; 16];
    // Nothing is ever written: the read returns when the recorder is gone, however it went.
    while matches!(input.read(&mut bytes), Ok(count) if count > 0) {}
    // Nobody is left to be told of a failure.
    let _ = end_marked(mark);
}
