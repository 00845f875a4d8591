//! `/proc/PID/smaps`: each mapping's line, and what it holds.

use model::Name;

use super::maps::maps_line;
use super::words::{Word, is_name, lines, words};
use super::{MapsLine, ParseError, Values};

/// One mapping and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmapsMapping {
    /// The mapping itself.
    pub line: MapsLine,
    /// Its counters as the kernel spells them with the unit at the end: `Rss_kb`, `Referenced_kb`
    /// (1024 bytes each), and without a unit `THPeligible`.
    pub values: Values,
    /// Its flags of two letters (`rd`, `ht`, …); empty on kernels that tell none.
    pub flags: Vec<String>,
}

/// Reads `/proc/PID/smaps`. As with [`super::maps`], no mappings are an answer.
///
/// Follows `Documentation/filesystems/proc.rst`, section "1.1 Process-Specific Subdirectories".
///
/// # Errors
/// When a line is neither a mapping nor a counter of one.
pub fn smaps(text: &str) -> Result<Vec<SmapsMapping>, ParseError> {
    let mut mappings: Vec<SmapsMapping> = Vec::new();
    for (number, line) in lines(text) {
        // A mapping's line has colons too, but none in its first word.
        let Some((name, rest)) = line.split_once(':').filter(|(name, _)| is_name(name)) else {
            let line = maps_line(line, number)?;
            mappings.push(SmapsMapping { line, values: Values::new(), flags: Vec::new() });
            continue;
        };
        let mapping =
            mappings.last_mut().ok_or_else(|| ParseError::missing(number, "address range"))?;
        let mut rest = words(rest, number, name.len() + 1);
        if name == "VmFlags" {
            mapping.flags = rest.map(|word| word.text.to_owned()).collect();
            continue;
        }
        let value = rest.next().ok_or_else(|| ParseError::missing(number, "value"))?.number()?;
        let key: Name = match rest.next() {
            None => name.into(),
            Some(Word { text: "kB", .. }) => format!("{name}_kb").into(),
            Some(surplus) => return Err(surplus.surplus()),
        };
        if let Some(surplus) = rest.next() {
            return Err(surplus.surplus());
        }
        mapping.values.insert(key, value);
    }
    Ok(mappings)
}
