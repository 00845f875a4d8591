//! Files of names and numbers, and files of one number.

use model::Name;

use super::words::{Word, Words, is_name, lines};
use super::{Pairs, ParseError};

const UNLIMITED: &str = "max";
/// From here on version 1 has no limit: 63 bits rounded down to the largest page size (64 KiB).
const UNLIMITED_BYTES: u64 = (1 << 63) - (64 << 10);

/// Reads a flat keyed file: `/proc/vmstat`, and `memory.stat`, `memory.events` and `cpu.stat` of a
/// control group, with the kernel's names and units (`docs/run-format.md`).
///
/// Follows `Documentation/admin-guide/cgroup-v2.rst` ("Flat keyed") and `cgroup-v1/memory.rst`
/// section 5.2. Fails when the file is empty, or a line is not a name and a number.
pub fn flat_keyed(text: &str) -> Result<Pairs, ParseError> {
    let mut pairs = Pairs::with_capacity(text.len() / 24);
    for (number, line) in lines(text) {
        let mut words = Words::new(line, number, 0);
        let Some(name) = words.next() else { continue };
        pairs.push((name.name()?.into(), words.number("value")?));
        words.end()?;
    }
    not_empty(pairs)
}

/// The version 1 `cpu.stat`: `throttled_time` and `burst_time` get their unit, ns.
pub(crate) fn cpu_stat_v1(text: &str) -> Result<Pairs, ParseError> {
    let unit = |name: Name| if name.ends_with("_time") { name + "_ns" } else { name };
    Ok(flat_keyed(text)?.into_iter().map(|(name, value)| (unit(name), value)).collect())
}

/// Reads `/proc/meminfo`, whose units become part of the names (`MemFree_kb`, of 1024 bytes).
///
/// Follows `Documentation/filesystems/proc.rst`, section "meminfo". Fails when the file is empty,
/// or a line is not a name, a colon, a number and perhaps a unit.
pub fn colon_keyed(text: &str) -> Result<Pairs, ParseError> {
    let mut pairs = Pairs::with_capacity(text.len() / 24);
    for (number, line) in lines(text).filter(|(_, line)| !line.trim_ascii().is_empty()) {
        let (name, rest) =
            line.split_once(':').ok_or_else(|| ParseError::missing(number, "colon"))?;
        let name = Word { text: name, line: number, column: 1 }.name()?;
        let is_unit = |unit: &str| unit.bytes().all(|byte| byte.is_ascii_alphabetic());
        pairs.push(with_unit(name, rest, number, is_unit)?);
    }
    not_empty(pairs)
}

/// A number and perhaps a unit after a name and colon: `MemFree` and `kB` make `MemFree_kb`.
pub(super) fn with_unit(
    name: &str,
    rest: &str,
    line: usize,
    is_unit: impl Fn(&str) -> bool,
) -> Result<(Name, u64), ParseError> {
    let mut words = Words::new(rest, line, name.len() + 1);
    let value = words.number("value")?;
    let mut key = Name::from(name);
    if let Some(unit) = words.next() {
        if !is_unit(unit.text) {
            return Err(unit.surplus());
        }
        key.push('_');
        key.extend(unit.text.chars().map(|letter| letter.to_ascii_lowercase()));
    }
    words.end()?;
    Ok((key, value))
}

/// Reads a pressure file: `some avg10=0.00 … total=123` is `some_us` = 123. Before Linux 5.13 `cpu`
/// has no `full` line; `irq` has no `some` line.
///
/// Follows `Documentation/accounting/psi.rst`. Fails when the file is empty, a line has no
/// `total=`, or a word after the first is not `key=value`.
pub fn pressure(text: &str) -> Result<Pairs, ParseError> {
    let mut pairs = Pairs::new();
    for (number, line) in lines(text) {
        let mut words = Words::new(line, number, 0);
        let Some(share) = words.next() else { continue };
        if !is_name(share.text) || share.text.contains('=') {
            return Err(share.unfit("the name of a counter"));
        }
        let mut total_us = None;
        for word in words {
            let (key, value) = word.text.split_once('=').ok_or_else(|| word.surplus())?;
            if !is_name(key) {
                return Err(word.unfit("the name of a counter"));
            }
            if key == "total" {
                let column = word.column + "total=".len();
                total_us = Some(Word { text: value, column, ..word }.number()?);
            }
        }
        let total_us = total_us.ok_or_else(|| ParseError::missing(number, "total"))?;
        pairs.push((Name::from(share.text) + "_us", total_us));
    }
    not_empty(pairs)
}

/// Reads a file of one number without a name, such as `memory.current` (bytes),
/// `memory.failcnt` (events) or `cpuacct.usage` (ns).
///
/// Follows `Documentation/admin-guide/cgroup-v2.rst` and `cgroup-v1/{memory,cpuacct}.rst`. Fails
/// for an empty file and anything but one number (`max` is a limit, not a counter).
pub fn single_value(text: &str) -> Result<Pairs, ParseError> {
    let mut words = lines(text).flat_map(|(number, line)| Words::new(line, number, 0));
    let value = words.next().ok_or_else(ParseError::empty)?.number()?;
    words.next().map_or(Ok(vec![(Name::default(), value)]), |surplus| Err(surplus.surplus()))
}

/// Reads a limit in bytes, such as `memory.max`; nothing if there is none.
///
/// Follows `Documentation/admin-guide/cgroup-v2.rst` and `PAGE_COUNTER_MAX` of the kernel's
/// `page_counter.h`. Fails for anything but `max` and one number.
pub fn limit(text: &str) -> Result<Pairs, ParseError> {
    if text.trim_ascii() == UNLIMITED {
        return Ok(Pairs::new());
    }
    let mut pairs = single_value(text)?;
    pairs.retain(|(_, bytes)| *bytes < UNLIMITED_BYTES);
    Ok(pairs)
}

fn not_empty(pairs: Pairs) -> Result<Pairs, ParseError> {
    if pairs.is_empty() { Err(ParseError::empty()) } else { Ok(pairs) }
}
