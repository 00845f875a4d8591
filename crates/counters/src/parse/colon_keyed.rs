//! Colon keyed files: a name with a colon, a number, and perhaps a unit.

use model::Name;

use super::words::{Word, is_name, lines, words};
use super::{Pairs, ParseError, Values};

/// Reads a colon keyed file: `/proc/meminfo`.
///
/// The unit becomes the end of the name: `MemFree:  1024 kB` is `MemFree_kb` (kB is 1024 bytes
/// here); a line without a unit keeps its name (`HugePages_Total`, a number of pages).
///
/// Follows `Documentation/filesystems/proc.rst`, section "meminfo".
///
/// # Errors
/// When the file is empty, or a line is anything but a name, a colon, a number and a unit.
pub fn colon_keyed(text: &str) -> Result<Values, ParseError> {
    colon_pairs(text).map(|pairs| pairs.into_iter().collect())
}

/// The same in the order of the file.
pub(crate) fn colon_pairs(text: &str) -> Result<Pairs, ParseError> {
    let mut pairs = Vec::with_capacity(text.len() / 24);
    for (number, line) in lines(text) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let (name, rest) =
            line.split_once(':').ok_or_else(|| ParseError::missing(number, "colon"))?;
        if !is_name(name) {
            return Err(Word { text: name, line: number, column: 1 }.not_a_name());
        }
        let mut words = words(rest, number, name.len() + 1);
        let value = words.next().ok_or_else(|| ParseError::missing(number, "value"))?.number()?;
        let key = match words.next() {
            None => name.into(),
            Some(unit) if unit.text.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                with_unit(name, unit.text)
            }
            Some(surplus) => return Err(surplus.surplus()),
        };
        if let Some(surplus) = words.next() {
            return Err(surplus.surplus());
        }
        pairs.push((key, value));
    }
    if pairs.is_empty() {
        return Err(ParseError::empty());
    }
    Ok(pairs)
}

/// `MemFree` and `kB` make `MemFree_kb`.
fn with_unit(name: &str, unit: &str) -> Name {
    let mut key = Name::with_capacity(name.len() + 1 + unit.len());
    key.push_str(name);
    key.push('_');
    key.extend(unit.chars().map(|c| c.to_ascii_lowercase()));
    key
}
