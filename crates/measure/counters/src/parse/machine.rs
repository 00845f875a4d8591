//! `/proc/stat` and `/proc/interrupts`.

use std::ops::RangeInclusive;

use super::words::{Words, lines};
use super::{Pairs, ParseError};

/// The columns of the `cpu` line; before Linux 2.6.33 the last ones are missing.
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

const CPU_COLUMNS_MIN: usize = 4;

/// Reads a list of CPUs or nodes such as `0-3,8` (`Documentation/admin-guide/cputopology.rst`);
/// `None` for what is not one.
pub fn ranges(list: &str) -> Option<Vec<RangeInclusive<u64>>> {
    let range = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last).then_some(first..=last)
    };
    list.split(',').map(range).collect()
}

/// Reads `/proc/stat`: the line of all CPUs together in ticks of 1/`USER_HZ` s (10 ms on all common
/// machines; `cpu_user_ticks` includes `cpu_guest_ticks`), `intr_total` (interrupts), `ctxt`
/// (context switches), `processes` (forks), `procs_running` and `procs_blocked` (tasks now).
///
/// Follows `Documentation/filesystems/proc.rst`, section 1.7. Fails for a missing line or number.
pub fn proc_stat(text: &str) -> Result<Pairs, ParseError> {
    let mut pairs = Pairs::with_capacity(CPU_COLUMNS.len() + 5);
    let mut has_cpu = false;
    for (number, line) in lines(text) {
        let mut words = Words::new(line, number, 0);
        let Some(word) = words.next() else { continue };
        match word.name()? {
            "cpu" => {
                has_cpu = true;
                for (index, name) in CPU_COLUMNS.iter().enumerate() {
                    match words.next() {
                        Some(word) => pairs.push(((*name).into(), word.number()?)),
                        None if index >= CPU_COLUMNS_MIN => break,
                        None => return Err(ParseError::missing(number, name)),
                    }
                }
            }
            "intr" => pairs.push(("intr_total".into(), words.number("value")?)),
            name @ ("ctxt" | "processes" | "procs_running" | "procs_blocked") => {
                pairs.push((name.into(), words.number("value")?));
            }
            _ => {}
        }
    }
    match has_cpu {
        true => Ok(pairs),
        false if text.trim_ascii().is_empty() => Err(ParseError::empty()),
        false => Err(ParseError::missing(1, "cpu")),
    }
}

/// Reads `/proc/interrupts`: the count over all CPUs of each one with a label (`TLB`, `CAL`, …).
///
/// Follows `show_interrupts` in the kernel's `kernel/irq/proc.c` and `arch_show_interrupts` in
/// `arch/x86/kernel/irq.c`: the first line names the CPUs online; a row has a count for each, `ERR`
/// and `MIS` one for all. Fails without a CPU, a row's label, or a count.
pub fn interrupts(text: &str) -> Result<Pairs, ParseError> {
    let mut rows = lines(text);
    let (number, header) = rows.next().ok_or_else(ParseError::empty)?;
    let cpus = Words::new(header, number, 0).filter(|word| word.text.starts_with("CPU")).count();
    if cpus == 0 {
        return Err(ParseError::missing(number, "CPU0"));
    }
    let mut pairs = Pairs::new();
    for (number, line) in rows {
        let mut words = Words::new(line, number, 0);
        let Some(first) = words.next() else { continue };
        let label = first.text.strip_suffix(':').unwrap_or_default();
        if label.is_empty() || !label.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(first.unfit("the name of a counter"));
        }
        if label.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let mut sum = words.number("count")?;
        for count in words.take(cpus - 1) {
            sum = sum.saturating_add(count.number()?);
        }
        pairs.push((label.into(), sum));
    }
    Ok(pairs)
}
