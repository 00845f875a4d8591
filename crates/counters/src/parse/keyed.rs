//! Files of names and numbers, and files of one number.

use model::Name;

use super::words::{Word, Words, is_name, lines};
use super::{Pairs, ParseError};

/// What version 2 writes for no limit.
const UNLIMITED: &str = "max";
/// From here on a limit of version 1 is none: the largest multiple of a page that fits 63 bits,
/// for the largest pages that an architecture has (64 KiB).
const UNLIMITED_BYTES: u64 = (1 << 63) - (64 << 10);

/// Reads a flat keyed file: `/proc/vmstat`, and of a control group `memory.stat`, `memory.events`
/// and `cpu.stat`.
///
/// Names stay as the kernel spells them. Units: `/proc/vmstat` counts pages (`nr_*`) or events
/// (`pg*`, `workingset_*`, …); `memory.stat` mixes bytes and events; `*_usec` are µs, and the
/// `throttled_time` and `burst_time` of a version 1 `cpu.stat` are ns.
///
/// Follows `Documentation/admin-guide/cgroup-v2.rst` ("Flat keyed") and
/// `Documentation/admin-guide/cgroup-v1/memory.rst` section 5.2. Fails when the file is empty, or a
/// line is anything but a name and a number.
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

/// The version 1 `cpu.stat`: gives `throttled_time` and `burst_time` their unit, which is ns.
pub(crate) fn cpu_stat_v1(text: &str) -> Result<Pairs, ParseError> {
    let unit = |name: Name| if name.ends_with("_time") { name + "_ns" } else { name };
    Ok(flat_keyed(text)?.into_iter().map(|(name, value)| (unit(name), value)).collect())
}

/// Reads a colon keyed file: `/proc/meminfo`.
///
/// The unit becomes the end of the name: `MemFree:  1024 kB` is `MemFree_kb` (kB is 1024 bytes
/// here); a line without a unit keeps its name (`HugePages_Total`, a number of pages).
///
/// Follows `Documentation/filesystems/proc.rst`, section "meminfo". Fails when the file is empty,
/// or a line is anything but a name, a colon, a number and a unit.
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

/// What stands behind a name and its colon: a number and perhaps a unit, which becomes the end of
/// the name. `MemFree` and `kB` make `MemFree_kb`.
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

/// Reads a pressure file: `/proc/pressure/*`, and of a control group `*.pressure`.
///
/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=123` is `some_us` = 123. The averages are derived
/// by the kernel from the same totals and are skipped.
/// Before Linux 5.13 the `cpu` file has no `full` line, and the `irq` file has no `some` line.
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

/// Reads a file that holds one number, which has no name: of a control group `memory.current`,
/// `memory.swap.current`, `memory.usage_in_bytes` (all in bytes), `memory.failcnt` (events),
/// `cpuacct.usage` (ns).
///
/// Follows `Documentation/admin-guide/cgroup-v2.rst` and
/// `Documentation/admin-guide/cgroup-v1/{memory,cpuacct}.rst`. Fails when the file is empty or
/// holds anything but one number (`max` is a limit, not a counter).
pub fn single_value(text: &str) -> Result<Pairs, ParseError> {
    let mut words = lines(text).flat_map(|(number, line)| Words::new(line, number, 0));
    let value = words.next().ok_or_else(ParseError::empty)?.number()?;
    words.next().map_or(Ok(vec![(Name::default(), value)]), |surplus| Err(surplus.surplus()))
}

/// Reads a limit of a control group, which has no name: version 2's `memory.max` or `memory.high`,
/// version 1's `memory.limit_in_bytes`, in bytes; nothing if there is none.
///
/// Follows `Documentation/admin-guide/cgroup-v2.rst` and `page_counter.h` of the kernel
/// (`PAGE_COUNTER_MAX`, which version 1 writes for no limit). Fails when the file holds neither
/// `max` nor one number.
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
