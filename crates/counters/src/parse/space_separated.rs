//! Files of one line: numbers without names.

use super::words::{lines, words};
use super::{ParseError, Values};

/// Names of the columns of `/proc/PID/schedstat`, in order.
const SCHEDSTAT_COLUMNS: [&str; 3] = ["run_ns", "wait_ns", "timeslices"];

/// Reads `/proc/PID/schedstat`: time spent on a CPU (`run_ns`), time spent waiting on a run queue
/// (`wait_ns`), and how often the task was put on a CPU (`timeslices`). Further columns and lines
/// are skipped.
///
/// Follows `Documentation/scheduler/sched-stats.rst`, on the file of one process.
///
/// # Errors
/// When one of the three columns is missing or is not a number.
pub fn schedstat(text: &str) -> Result<Values, ParseError> {
    let (number, line) = lines(text).next().ok_or_else(ParseError::empty)?;
    let mut words = words(line, number, 0);
    SCHEDSTAT_COLUMNS
        .iter()
        .map(|name| {
            let word = words.next().ok_or_else(|| ParseError::missing(number, name))?;
            Ok(((*name).into(), word.number()?))
        })
        .collect()
}

/// Reads a file that holds one number: of a control group `memory.current`,
/// `memory.swap.current`, `memory.usage_in_bytes` (all in bytes), `memory.failcnt` (events),
/// `cpuacct.usage` (ns).
///
/// Follows `Documentation/admin-guide/cgroup-v2.rst` and
/// `Documentation/admin-guide/cgroup-v1/{memory,cpuacct}.rst`.
///
/// # Errors
/// When the file is empty or holds anything but one number (`max` is a limit, not a counter).
pub fn single_value(text: &str) -> Result<u64, ParseError> {
    let mut found = lines(text).flat_map(|(number, line)| words(line, number, 0));
    let value = found.next().ok_or_else(ParseError::empty)?.number()?;
    match found.next() {
        None => Ok(value),
        Some(surplus) => Err(surplus.surplus()),
    }
}
