//! The time that a step takes.

use rustix::time::{ClockId, clock_gettime};

/// The CPU time of a thread, which other load does not change.
pub(crate) const CPU: ClockId = ClockId::ThreadCPUTime;

/// The time of `count` operations by a clock, in ns each, and their result.
pub(crate) fn each_ns<T>(clock: ClockId, count: usize, act: impl FnOnce() -> T) -> (f64, T) {
    let start = clock_gettime(clock);
    let result = act();
    let end = clock_gettime(clock);
    let taken_ns = (end.tv_sec - start.tv_sec) * 1_000_000_000 + end.tv_nsec - start.tv_nsec;
    (taken_ns as f64 / count as f64, result)
}
