//! `/proc/stat`: time of all CPUs together, and counts since boot.

use super::words::{Word, is_name, lines, words};
use super::{ParseError, Values};

/// Names of the columns of the `cpu` line, in order.
///
/// `steal` came with Linux 2.6.11, `guest` with 2.6.24, `guest_nice` with 2.6.33; an older kernel
/// has fewer columns.
const CPU_COLUMNS: [&str; 10] = [
    "cpu_user_ticks",
    "cpu_nice_ticks",
    "cpu_system_ticks",
    "cpu_idle_ticks",
    "cpu_iowait_ticks",
    "cpu_irq_ticks",
    "cpu_softirq_ticks",
    "cpu_steal_ticks",
    "cpu_guest_ticks",
    "cpu_guest_nice_ticks",
];

/// How many of [`CPU_COLUMNS`] every kernel has.
const CPU_COLUMNS_MIN: usize = 4;

/// Reads `/proc/stat`.
///
/// Gives the line of all CPUs together (`cpu_user_ticks`, …; a tick is 1/`USER_HZ` s, 10 ms on all
/// common machines; `cpu_user_ticks` includes `cpu_guest_ticks`), `intr_total` (interrupts, without
/// the long list by number), `ctxt` (context switches), `processes` (forks), `procs_running` and
/// `procs_blocked` (tasks at this moment). Single CPUs and all other lines are skipped.
///
/// Follows `Documentation/filesystems/proc.rst`, section 1.7.
///
/// # Errors
/// When there is no line of all CPUs together, or a known line has no number where it must.
pub fn proc_stat(text: &str) -> Result<Values, ParseError> {
    let mut values = Values::new();
    let mut has_cpu = false;
    for (number, line) in lines(text) {
        let mut words = words(line, number, 0);
        let Some(name) = words.next() else { continue };
        if !is_name(name.text) {
            return Err(name.not_a_name());
        }
        let key = match name.text {
            "cpu" => {
                cpu_line(words, number, &mut values)?;
                has_cpu = true;
                continue;
            }
            "intr" => "intr_total",
            "ctxt" | "processes" | "procs_running" | "procs_blocked" => name.text,
            _ => continue,
        };
        let value = words.next().ok_or_else(|| ParseError::missing(number, "value"))?.number()?;
        values.insert(key.into(), value);
    }
    match (has_cpu, text.trim_ascii().is_empty()) {
        (true, _) => Ok(values),
        (false, true) => Err(ParseError::empty()),
        (false, false) => Err(ParseError::missing(1, "cpu")),
    }
}

/// Reads the columns behind `cpu`; columns beyond the known ones are skipped.
fn cpu_line<'a>(
    mut words: impl Iterator<Item = Word<'a>>,
    line: usize,
    values: &mut Values,
) -> Result<(), ParseError> {
    for (index, name) in CPU_COLUMNS.iter().enumerate() {
        match words.next() {
            Some(word) => values.insert((*name).into(), word.number()?),
            None if index < CPU_COLUMNS_MIN => return Err(ParseError::missing(line, name)),
            None => break,
        };
    }
    Ok(())
}
