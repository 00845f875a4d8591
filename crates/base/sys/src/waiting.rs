//! Waiting for a child with a limit of time: how it ended, and what it used.

use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{WaitId, WaitIdOptions, waitid};

use crate::clock::timespec;
use crate::process::{Exit, Usage, exit_of, process};

/// Longest time between two checks of a child, in ns.
const LOOK_NS: u64 = 1_000_000_000;

/// A child that ended, from `wait4(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How it ended.
    pub exit: Exit,
    /// What it and its own reaped children used.
    pub usage: Usage,
    /// Largest resident memory of any one of these processes, in bytes.
    pub peak_bytes: u64,
}

/// Waits for a child until the monotonic clock reads `until_ns`; `None` if it still runs. Meanwhile
/// `read` is called whenever one of `outputs` can be read. Fails without such a child.
///
/// With other threads it may notice the end up to a second late.
pub fn wait_usage(
    pid: u32,
    until_ns: u64,
    outputs: &[BorrowedFd<'_>],
    read: impl FnMut(),
) -> io::Result<Option<Ended>> {
    wait_for_child(until_ns, outputs, read, || reap(pid))
}

/// Waits like [`wait_usage`], but leaves a child that ended as a zombie, so that its files in
/// `/proc` can be read before [`wait_usage`] reaps it. Whether it ended.
pub fn wait_end(
    pid: u32,
    until_ns: u64,
    outputs: &[BorrowedFd<'_>],
    read: impl FnMut(),
) -> io::Result<bool> {
    let id = process(pid)?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let look = || Ok(rustix::io::retry_on_intr(|| waitid(WaitId::Pid(id), options))?);
    Ok(wait_for_child(until_ns, outputs, read, look)?.is_some())
}

/// What a child did that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It ended, and is a zombie.
    Ended,
    /// The terminal stopped it with this signal: it is in the background, and used the terminal.
    Stopped(i32),
}

/// Waits like [`wait_end`], also for a stop by the terminal (SIGTTIN, SIGTTOU), which no other
/// process would end. `None` if nothing changed in time.
pub fn wait_change(
    pid: u32,
    until_ns: u64,
    outputs: &[BorrowedFd<'_>],
    read: impl FnMut(),
) -> io::Result<Option<Change>> {
    let id = process(pid)?;
    let options = WaitIdOptions::EXITED
        | WaitIdOptions::STOPPED
        | WaitIdOptions::NOWAIT
        | WaitIdOptions::NOHANG;
    wait_for_child(until_ns, outputs, read, || {
        let Some(status) = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(id), options))? else {
            return Ok(None);
        };
        Ok(match status.stopping_signal() {
            None => Some(Change::Ended),
            Some(signal) if [libc::SIGTTIN, libc::SIGTTOU].contains(&signal) => {
                Some(Change::Stopped(signal))
            }
            Some(_) => None,
        })
    })
}

/// Looks whenever a child ended, until the look finds something or the time has come.
fn wait_for_child<T>(
    until_ns: u64,
    outputs: &[BorrowedFd<'_>],
    mut read: impl FnMut(),
    look: impl Fn() -> io::Result<Option<T>>,
) -> io::Result<Option<T>> {
    let child = SignalSet::containing(libc::SIGCHLD);
    // Blocked before the first check, so that no later signal is lost.
    child.change(libc::SIG_BLOCK)?;
    let outcome = child.descriptor().and_then(|signals| {
        loop {
            if let Some(found) = look()? {
                return Ok(Some(found));
            }
            let left_ns = until_ns.saturating_sub(crate::clock::monotonic_ns());
            if left_ns == 0 {
                return Ok(None);
            }
            let mut ready = vec![PollFd::new(&signals, PollFlags::IN)];
            ready.extend(outputs.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)));
            // After an interrupted poll the child is looked at again.
            let _ = poll(&mut ready, Some(&timespec(left_ns.min(LOOK_NS))));
            let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
            if is_ready(&ready[0]) {
                // Takes the signal, as a handler would.
                let _ = rustix::io::read(&signals, &mut [0; size_of::<libc::signalfd_siginfo>()]);
            }
            if ready[1..].iter().any(is_ready) {
                read();
            }
        }
    });
    child.change(libc::SIG_UNBLOCK)?;
    outcome
}

fn reap(pid: u32) -> io::Result<Option<Ended>> {
    let mut status = 0;
    // SAFETY: rusage is plain integers, for which all zeroes is valid; the call fills both.
    let (got, raw) = unsafe {
        let mut raw: libc::rusage = std::mem::zeroed();
        let got = libc::wait4(pid as libc::pid_t, &raw mut status, libc::WNOHANG, &raw mut raw);
        (got, raw)
    };
    match got {
        0 => Ok(None),
        got if got > 0 => Ok(Some(Ended {
            exit: exit_of(status),
            usage: Usage::from_raw(&raw),
            // In KiB: getrusage(2).
            peak_bytes: (raw.ru_maxrss as u64).saturating_mul(1024),
        })),
        _ => Err(io::Error::last_os_error()),
    }
}

struct SignalSet(libc::sigset_t);

impl SignalSet {
    fn containing(number: i32) -> Self {
        // SAFETY: sigset_t is plain integers; sigemptyset makes it valid before it is used.
        let set = unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, number);
            set
        };
        Self(set)
    }

    fn change(&self, how: libc::c_int) -> io::Result<()> {
        // SAFETY: the set outlives the call, which only reads it; no old mask is requested.
        let code = unsafe { libc::pthread_sigmask(how, &raw const self.0, std::ptr::null_mut()) };
        if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
    }

    /// Readable while a blocked signal of the set is pending (signalfd(2)).
    fn descriptor(&self) -> io::Result<OwnedFd> {
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        // SAFETY: the call only reads the set, which outlives it.
        let raw = unsafe { libc::signalfd(-1, &raw const self.0, flags) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and owned by nothing else.
        Ok(unsafe { OwnedFd::from_raw_fd(raw) })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;
    use crate::process::spawn_bound;

    #[test]
    fn a_child_is_waited_for_with_what_it_used_but_no_longer_than_allowed() {
        let mut command = Command::new("sleep");
        let start_ns = crate::clock::monotonic_ns();
        let pid = spawn_bound(command.arg("0.3")).unwrap().id();
        assert_eq!(wait_usage(pid, start_ns + 20_000_000, &[], || {}).unwrap(), None);
        assert!(!wait_end(pid, start_ns + 20_000_000, &[], || {}).unwrap());
        assert!(wait_end(pid, start_ns + 60_000_000_000, &[], || {}).unwrap());
        assert!(Path::new(&format!("/proc/{pid}/schedstat")).exists(), "a zombie");
        let ended = wait_usage(pid, start_ns + 60_000_000_000, &[], || {}).unwrap().unwrap();
        assert_eq!(ended.exit, Exit::Code(0));
        assert!(ended.usage.0[2] > 0 && ended.peak_bytes > 4096, "{ended:?}");
        let elapsed_ns = crate::clock::monotonic_ns() - start_ns;
        assert!((300_000_000..20_000_000_000).contains(&elapsed_ns), "{elapsed_ns} ns");
        assert!(wait_usage(pid, 0, &[], || {}).is_err(), "it is gone");
    }
}
