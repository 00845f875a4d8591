//! The monotonic clock, and sleeping until a moment of it.

use std::io;

/// The monotonic clock (`CLOCK_MONOTONIC`) in ns since an arbitrary moment, the same in every
/// process of this boot.
#[must_use]
pub fn monotonic_ns() -> u64 {
    now_ns(libc::CLOCK_MONOTONIC)
}

/// CPU time that this process has used (`CLOCK_PROCESS_CPUTIME_ID`) in ns.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    now_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The time of day (`CLOCK_REALTIME`) in ns since 1970 UTC.
#[must_use]
pub fn realtime_ns() -> u64 {
    now_ns(libc::CLOCK_REALTIME)
}

fn now_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that the call fills; these clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sleeps until the monotonic clock reads `until_ns`; returns at once if it already does.
///
/// Signals do not shorten the sleep. Absolute, so that time lost before the call is not added.
pub fn sleep_until_ns(until_ns: u64) {
    let time = libc::timespec {
        tv_sec: (until_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (until_ns % 1_000_000_000) as libc::c_long,
    };
    loop {
        // SAFETY: `time` is a valid timespec; no remainder is asked for with an absolute sleep.
        let code = unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &raw const time,
                std::ptr::null_mut(),
            )
        };
        if code != libc::EINTR {
            return;
        }
    }
}

/// Sets the timer slack of the calling thread, in ns (`PR_SET_TIMERSLACK`).
///
/// # Errors
/// What the kernel answers.
pub fn set_timer_slack_ns(slack_ns: u64) -> io::Result<()> {
    // SAFETY: prctl with this option takes one integer and touches no memory of ours.
    let code = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack_ns as libc::c_ulong, 0, 0, 0) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
