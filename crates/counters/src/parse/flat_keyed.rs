//! Flat keyed files: one name and one number a line.

use super::words::{is_name, lines, words};
use super::{Pairs, ParseError, Values};

/// Reads a flat keyed file: `/proc/vmstat`, and of a control group `memory.stat`, `memory.events`
/// and `cpu.stat`.
///
/// Names stay as the kernel spells them. Units: `/proc/vmstat` counts pages (`nr_*`) or events
/// (`pg*`, `workingset_*`, …); `memory.stat` mixes bytes and events; `*_usec` are µs, and the
/// `throttled_time` and `burst_time` of a version 1 `cpu.stat` are ns.
///
/// Follows `Documentation/admin-guide/cgroup-v2.rst` ("Flat keyed") and
/// `Documentation/admin-guide/cgroup-v1/memory.rst` section 5.2.
///
/// # Errors
/// When the file is empty, or a line is anything but a name and a number.
pub fn flat_keyed(text: &str) -> Result<Values, ParseError> {
    flat_pairs(text).map(|pairs| pairs.into_iter().collect())
}

/// The same in the order of the file.
pub(crate) fn flat_pairs(text: &str) -> Result<Pairs, ParseError> {
    let mut pairs = Vec::with_capacity(text.len() / 24);
    for (number, line) in lines(text) {
        let mut words = words(line, number, 0);
        let Some(name) = words.next() else { continue };
        if !is_name(name.text) {
            return Err(name.not_a_name());
        }
        let value = words.next().ok_or_else(|| ParseError::missing(number, "value"))?.number()?;
        if let Some(surplus) = words.next() {
            return Err(surplus.surplus());
        }
        pairs.push((name.text.into(), value));
    }
    if pairs.is_empty() {
        return Err(ParseError::empty());
    }
    Ok(pairs)
}
