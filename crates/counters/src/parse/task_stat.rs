//! `/proc/PID/stat`: one line of columns behind a name that may hold anything.

use super::words::{Word, words};
use super::{ParseError, Reason, Values};

/// The columns that are counters: their number in proc(5), from 1, and our name.
const COLUMNS: [(usize, &str); 13] = [
    (10, "minflt"),
    (11, "cminflt"),
    (12, "majflt"),
    (13, "cmajflt"),
    (14, "utime_ticks"),
    (15, "stime_ticks"),
    (16, "cutime_ticks"),
    (17, "cstime_ticks"),
    (20, "threads"),
    (22, "starttime_ticks"),
    (23, "vsize_bytes"),
    (24, "rss_pages"),
    (42, "blkio_delay_ticks"),
];

/// Number of the first column behind the name (the state).
const FIRST_COLUMN: usize = 3;

/// Columns up to here are in every kernel since 2.6; those behind it may be missing.
const LAST_CERTAIN_COLUMN: usize = 24;

/// Reads `/proc/PID/stat`: page faults (`minflt`, `majflt`, and with `c` before them those of
/// children that were waited for), CPU time in ticks of 1/`USER_HZ` s (`utime_ticks`, …),
/// `threads`, `starttime_ticks` (after boot; tells a reused process id), `vsize_bytes`,
/// `rss_pages`, `blkio_delay_ticks` (0 too when delay accounting is off).
///
/// The program's name stands in parentheses and may itself hold parentheses, spaces and newlines,
/// so the columns are counted from the last closing parenthesis.
///
/// Follows `Documentation/filesystems/proc.rst`, table 1-4.
///
/// # Errors
/// When there is no name in parentheses, or a counter's column is missing or is not a number.
pub fn task_stat(text: &str) -> Result<Values, ParseError> {
    if text.trim_ascii().is_empty() {
        return Err(ParseError::empty());
    }
    let open = text.find('(').ok_or_else(|| ParseError::missing(1, "comm"))?;
    let pid = text[..open].trim_end_matches(' ');
    Word { text: pid, line: 1, column: 1 }.number()?;
    let close = text
        .rfind(')')
        .filter(|close| *close > open)
        .ok_or_else(|| ParseError::missing(1, "comm"))?;
    let line = 1 + text[..close].bytes().filter(|byte| *byte == b'\n').count();
    let line_start = text[..close].rfind('\n').map_or(0, |newline| newline + 1);
    let tail = text[close + 1..].trim_end_matches('\n');
    let columns: Vec<Word<'_>> = words(tail, line, close + 1 - line_start).collect();
    check_state(&columns, line)?;
    let mut values = Values::new();
    for (number, name) in COLUMNS {
        match columns.get(number - FIRST_COLUMN) {
            Some(word) => values.insert(name.into(), word.number()?),
            None if number <= LAST_CERTAIN_COLUMN => return Err(ParseError::missing(line, name)),
            None => break,
        };
    }
    Ok(values)
}

/// The column behind the name is one letter; anything else means that the columns have slipped.
fn check_state(columns: &[Word<'_>], line: usize) -> Result<(), ParseError> {
    let state = columns.first().ok_or_else(|| ParseError::missing(line, "state"))?;
    if state.text.len() == 1 && state.text.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Ok(());
    }
    Err(state.error(Reason::NotAName(state.text.chars().take(16).collect())))
}
