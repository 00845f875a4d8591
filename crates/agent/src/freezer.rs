//! The test hook that freezes the prober again and again.

use std::io;

use sys::clock::{monotonic_ns, sleep_until_ns};
use sys::process::{fork_child, signal, signals, wait};

use crate::assignment::Freeze;

/// A process that freezes the prober; killed when dropped, with the prober going on.
pub(crate) struct Freezer {
    pid: u32,
    prober: u32,
}

impl Freezer {
    /// Starts freezing.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub(crate) fn start(freeze: Freeze, prober: u32) -> io::Result<Self> {
        let pid = fork_child(|| {
            let mut next_ns = monotonic_ns();
            loop {
                next_ns += freeze.every_ns.max(1);
                sleep_until_ns(next_ns);
                let stopped = signal(prober, signals::STOP);
                sleep_until_ns(next_ns + freeze.freeze_ns);
                if stopped.and_then(|()| signal(prober, signals::CONT)).is_err() {
                    return 1;
                }
            }
        })?;
        Ok(Self { pid, prober })
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        let _ = signal(self.pid, signals::KILL);
        let _ = wait(self.pid, true);
        let _ = signal(self.prober, signals::CONT);
    }
}
