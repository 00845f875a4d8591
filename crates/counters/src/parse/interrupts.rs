//! `/proc/interrupts`: a table of counts, one row an interrupt, one column a CPU.

use super::words::{Word, lines, words};
use super::{ParseError, Values};

/// Reads `/proc/interrupts`: for each interrupt with a label (`TLB`, `CAL`, `RES`, `LOC`, …) its
/// count, summed over all CPUs. Interrupts with a number are devices', whose numbers mean something
/// else on each machine, and are skipped; so is the text behind the counts.
///
/// Follows `show_interrupts` in the kernel's `kernel/irq/proc.c` and `arch_show_interrupts` in its
/// `arch/x86/kernel/irq.c`: the first line names the CPUs that are online, a row has a count for
/// each of them, and `ERR` and `MIS` have one count for all.
///
/// # Errors
/// When the first line names no CPU, a row has no label, or something else stands where a count
/// must.
pub fn interrupts(text: &str) -> Result<Values, ParseError> {
    let mut rows = lines(text);
    let (number, header) = rows.next().ok_or_else(ParseError::empty)?;
    let cpus = words(header, number, 0).filter(|word| word.text.starts_with("CPU")).count();
    if cpus == 0 {
        return Err(ParseError::missing(number, "CPU0"));
    }
    let mut values = Values::new();
    for (number, line) in rows {
        let mut words = words(line, number, 0);
        let Some(first) = words.next() else { continue };
        let label = label(first)?;
        if label.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let mut counts = words.take(cpus);
        let mut sum =
            counts.next().ok_or_else(|| ParseError::missing(number, "count"))?.number()?;
        for count in counts {
            sum = sum.saturating_add(count.number()?);
        }
        values.insert(label.into(), sum);
    }
    Ok(values)
}

/// The label of a row, without its colon.
fn label(word: Word<'_>) -> Result<&str, ParseError> {
    let label = word.text.strip_suffix(':').unwrap_or_default();
    let is_label = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_label { Ok(label) } else { Err(word.not_a_name()) }
}
