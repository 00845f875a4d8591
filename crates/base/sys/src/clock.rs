//! The monotonic clock, and sleeping until a time of it.

use std::io;
use std::num::NonZero;
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Attempts to read two clocks at one time; an interrupt may come between.
const ATTEMPTS: u32 = 16;

/// The monotonic clock (`CLOCK_MONOTONIC`) in ns, the same in every process of this boot.
pub fn monotonic_ns() -> u64 {
    now_ns(ClockId::Monotonic)
}

/// CPU time that this process has used (`CLOCK_PROCESS_CPUTIME_ID`) in ns.
pub fn process_cpu_ns() -> u64 {
    now_ns(ClockId::ProcessCPUTime)
}

/// Time since boot (`CLOCK_BOOTTIME`) in ns, that of suspensions included.
pub fn boot_ns() -> u64 {
    now_ns(ClockId::Boottime)
}

/// The time of day (`CLOCK_REALTIME`) in ns since 1970 UTC.
pub fn realtime_ns() -> u64 {
    now_ns(ClockId::Realtime)
}

/// The time of day less the monotonic clock, in ns: of several attempts, that which took least.
pub fn realtime_offset_ns() -> u64 {
    let offset = closest(monotonic_ns, realtime_ns);
    offset.1.saturating_sub(offset.0)
}

/// The time stamp counter and the monotonic clock in ns, at one time. Fails where the processor has
/// no such counter.
pub fn counter_and_monotonic_ns() -> io::Result<(u64, u64)> {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 processor has the instruction.
        let counter = || unsafe { std::arch::x86_64::_rdtsc() };
        Ok(closest(counter, monotonic_ns))
    }
    #[cfg(not(target_arch = "x86_64"))]
    Err(io::Error::other("this processor has no time stamp counter"))
}

/// Two clocks at one time: the first one halfway between two readings, the other one between them.
fn closest(outer: impl Fn() -> u64, inner: impl Fn() -> u64) -> (u64, u64) {
    let attempt = || {
        let (before, between, after) = (outer(), inner(), outer());
        (after - before, (before + (after - before) / 2, between))
    };
    let first = attempt();
    let all = (1..ATTEMPTS).map(|_| attempt());
    all.fold(first, |best, next| if next.0 < best.0 { next } else { best }).1
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
