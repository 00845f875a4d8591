//! Waiting for a time, a signal or messages of children, and why a run stops.

use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::{flag, low_level::pipe};
use sys::clock::{monotonic_ns, timespec};
use sys::process::{Exit, is_ignored, signals};

const STOP: [i32; 3] = [signals::TERM, signals::INT, signals::HANGUP];

/// Most time between the signals of a stop of several processes, in ns.
const TOGETHER_NS: u64 = 200_000_000;

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The descriptor is readable.
    Readable,
    /// A child ended, or a stop was requested.
    Signal,
    /// The time was reached.
    Time,
}

/// Why a run stops.
pub(crate) enum End {
    Timeout,
    /// A stop was requested.
    Interrupted,
    LoadDied,
    /// A measured process died.
    Died(Death),
    /// A measured process closed its pipe.
    Gone,
    /// A measured process did not become ready, with the reason.
    Failed(String),
    /// A command line, file or folder that the user named failed or is missing.
    CommandFailed(String),
    Io(io::Error),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The death of a measured process; none ends by itself.
pub(crate) struct Death {
    /// The process, such as `the probe`.
    pub(crate) who: String,
    pub(crate) how: String,
    pub(crate) exit: Option<Exit>,
}

/// The signals of this process as a descriptor that can be waited for.
pub struct Waiter {
    wakes: UnixStream,
    stop: Arc<AtomicBool>,
}

impl Waiter {
    /// Catches SIGTERM, SIGINT, SIGHUP and SIGCHLD from now on, if handlers can be set. A request to
    /// stop that this process was started to ignore (nohup) stays ignored.
    pub fn new() -> io::Result<Self> {
        let (wakes, writer) = UnixStream::pair()?;
        wakes.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        for number in STOP.into_iter().filter(|number| !is_ignored(*number)) {
            flag::register(number, Arc::clone(&stop))?;
            pipe::register(number, writer.try_clone()?)?;
        }
        pipe::register(signals::CHILD, writer)?;
        Ok(Self { wakes, stop })
    }

    /// Whether a stop was requested.
    pub fn stop_requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether a process ended in a stop of all. `systemctl stop` (systemd.kill(5)) and terminals
    /// signal one process after the other, so this process may get its signal later.
    pub fn is_stopped_too(&self, exit: Exit) -> bool {
        let until_ns = monotonic_ns() + TOGETHER_NS;
        let by_request = matches!(exit, Exit::Signal(number) if STOP.contains(&number));
        // Leaves the pipe unread, so that the next wait finds the request.
        while by_request && !self.stop_requested() && monotonic_ns() < until_ns {
            thread::sleep(Duration::from_millis(1));
        }
        by_request && self.stop_requested()
    }

    /// Waits until `fd` is readable, a signal comes, or the monotonic clock reads `until_ns`.
    pub fn wait(&self, fd: Option<BorrowedFd<'_>>, until_ns: u64) -> Woken {
        let mut fds = vec![PollFd::new(&self.wakes, PollFlags::IN)];
        fds.extend(fd.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        loop {
            let left_ns = until_ns.saturating_sub(monotonic_ns());
            match poll(&mut fds, Some(&timespec(left_ns))) {
                Ok(0) => return Woken::Time,
                Ok(_) if !fds[0].revents().is_empty() => {
                    // Drains all pending wake-ups.
                    let _ = (&self.wakes).read_to_end(&mut Vec::new());
                    return Woken::Signal;
                }
                Ok(_) => return Woken::Readable,
                Err(_) if left_ns == 0 => return Woken::Time,
                // After an interrupted poll the signal's byte is in the pipe.
                Err(_) => {}
            }
        }
    }

    /// Waits for children to become ready; fails with `late` at the deadline, or to stop.
    pub(crate) fn until_ready(
        &self,
        fd: BorrowedFd<'_>,
        until_ns: u64,
        late: &str,
    ) -> Result<Woken, End> {
        match self.wait(Some(fd), until_ns) {
            Woken::Signal if self.stop_requested() => Err(End::Interrupted),
            Woken::Time => Err(End::Failed(late.to_owned())),
            woken => Ok(woken),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_ended_by_a_request_to_stop_was_stopped_too() {
        let waiter = Waiter::new().unwrap();
        let killed = Exit::Signal(signals::KILL);
        assert!(!waiter.is_stopped_too(Exit::Signal(signals::TERM)), "no process asked");
        let sibling = Exit::Signal(signals::INT);
        let asks = thread::spawn(|| {
            thread::sleep(Duration::from_millis(20));
            // A shell's job in the background ignores the others.
            sys::process::signal(std::process::id(), signals::TERM)
        });
        assert!(waiter.is_stopped_too(sibling), "the request comes a little later");
        asks.join().unwrap().unwrap();
        for other in [killed, Exit::Code(1), Exit::Code(0)] {
            assert!(!waiter.is_stopped_too(other), "{other:?} is a death of its own");
        }
        assert_eq!(waiter.wait(None, 0), Woken::Signal, "the request is still to be found");
    }
}
