//! The monotonic clock, and sleeping until a time of it.

use std::io;
use std::num::NonZero;
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// The monotonic clock (`CLOCK_MONOTONIC`) in ns, the same in every process of this boot.
pub fn monotonic_ns() -> u64 {
    now_ns(ClockId::Monotonic)
}

/// CPU time that this process has used (`CLOCK_PROCESS_CPUTIME_ID`) in ns.
pub fn process_cpu_ns() -> u64 {
    now_ns(ClockId::ProcessCPUTime)
}

/// The time of day (`CLOCK_REALTIME`) in ns since 1970 UTC.
pub fn realtime_ns() -> u64 {
    now_ns(ClockId::Realtime)
}

fn now_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A length in ns for a system call.
pub fn timespec(time_ns: u64) -> Timespec {
    Timespec { tv_sec: (time_ns / 1_000_000_000) as i64, tv_nsec: (time_ns % 1_000_000_000) as _ }
}

/// Sleeps until the monotonic clock reads `until_ns`, signals or not.
pub fn sleep_until_ns(until_ns: u64) {
    let until = timespec(until_ns);
    while clock_nanosleep_absolute(ClockId::Monotonic, &until) == Err(Errno::INTR) {}
}

/// Whether a descriptor can be read within `limit_ns`; a signal may end the wait early.
pub fn is_readable(fd: impl AsFd, limit_ns: u64) -> bool {
    let mut fds = [PollFd::new(&fd, PollFlags::IN)];
    poll(&mut fds, Some(&timespec(limit_ns))).is_ok_and(|count| count > 0)
}

/// Sets the timer slack of the calling thread, in ns (`PR_SET_TIMERSLACK`); 0 is the default.
pub fn set_timer_slack_ns(slack_ns: u64) -> io::Result<()> {
    Ok(set_current_timer_slack(NonZero::new(slack_ns))?)
}
