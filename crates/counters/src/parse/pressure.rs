//! Pressure stall information: nested keyed lines of which only the totals are raw counters.

use super::words::{Word, is_name, lines, words};
use super::{ParseError, Values};

/// Reads a pressure file: `/proc/pressure/*`, and of a control group `*.pressure`.
///
/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=123` is `some_us` = 123. The averages are derived
/// by the kernel from the same totals and are skipped.
/// Before Linux 5.13 the `cpu` file has no `full` line, and the `irq` file has no `some` line.
///
/// Follows `Documentation/accounting/psi.rst`.
///
/// # Errors
/// When the file is empty, a line has no `total=`, or a word after the first is not `key=value`.
pub fn pressure(text: &str) -> Result<Values, ParseError> {
    let mut values = Values::new();
    for (number, line) in lines(text) {
        let mut words = words(line, number, 0);
        let Some(share) = words.next() else { continue };
        if !is_name(share.text) || share.text.contains('=') {
            return Err(share.not_a_name());
        }
        let mut total_us = None;
        for word in words {
            let (key, value) = word.text.split_once('=').ok_or_else(|| word.surplus())?;
            if !is_name(key) {
                return Err(word.not_a_name());
            }
            if key == "total" {
                let column = word.column + "total=".len();
                total_us = Some(Word { text: value, line: number, column }.number()?);
            }
        }
        let total_us = total_us.ok_or_else(|| ParseError::missing(number, "total"))?;
        values.insert(format!("{}_us", share.text).into(), total_us);
    }
    if values.is_empty() {
        return Err(ParseError::empty());
    }
    Ok(values)
}
