//! Counter files that stay open and are read repeatedly from their beginning, through one buffer.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use model::{CounterSet, Missed, Name, Values};

use crate::parse::{Pairs, ParseError};

/// Size that a buffer begins with, in bytes: most files fit and are read in one call.
const BUFFER_BYTES: usize = 16 << 10;

/// Size that no counter file reaches, in bytes; a larger one is not a counter file.
const FILE_BYTES_MAX: usize = 16 << 20;

/// A shorter first read, in bytes, is the whole file: the kernel fills at least a page unless the
/// next record does not fit (`Documentation/filesystems/seq_file.rst`). Not so with long records.
const WHOLE_BYTES: usize = 3 << 10;

/// How a file is read.
pub(crate) type Parse = fn(&str) -> Result<Pairs, ParseError>;

/// A counter file: its name, the source that its counters belong to, how it is read, and what
/// stands before each name (`events` and `max` make `events_max`), or is the name of the only number.
pub(crate) type Row = (&'static str, &'static str, Parse, &'static str);

#[derive(Debug, Default)]
pub(crate) struct CounterFiles {
    files: Vec<CounterFile>,
    buffer: Vec<u8>,
}

impl CounterFiles {
    /// Opens a file of a directory and reads it once: some files open, but refuse to be read.
    pub(crate) fn open(&mut self, dir: &Path, row: Row) -> Result<(), Refused> {
        let path = dir.join(row.0);
        let refused = |doing| {
            let path = path.display();
            move |error: io::Error| Refused {
                reason: format!("cannot {doing} {path}: {error}{}", hint(&error)),
                is_absent: error.kind() == io::ErrorKind::NotFound,
            }
        };
        let file = File::open(&path).map_err(refused("open"))?;
        let opened = CounterFile { file, row, order: Vec::new() };
        let length = opened.fill(&mut self.buffer).map_err(refused("read"))?;
        row.2(&text_of(&self.buffer[..length])).map_err(|error| Refused {
            reason: format!("cannot understand {}: {error}", path.display()),
            is_absent: false,
        })?;
        self.files.push(opened);
        Ok(())
    }

    /// Reads the files that are wanted. What cannot be read any more is absent, as is a source
    /// without counters.
    pub(crate) fn read(&mut self, is_wanted: impl Fn(&str) -> bool) -> CounterSet {
        let mut set = CounterSet::new();
        for file in self.files.iter_mut().filter(|file| is_wanted(file.row.1)) {
            let Ok(length) = file.fill(&mut self.buffer) else { continue };
            let Ok(pairs) = file.row.2(&text_of(&self.buffer[..length])) else { continue };
            if pairs.is_empty() {
                continue;
            }
            let values = file.sorted(pairs);
            match set.get_mut(file.row.1) {
                Some(there) => there.extend(values),
                None => drop(set.insert(file.row.1.into(), values)),
            }
        }
        set
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

#[derive(Debug)]
struct CounterFile {
    file: File,
    row: Row,
    /// The order of its counters sorted by name, which never changes; sorting each time took a
    /// quarter of the instructions of a read (7.8 of 30 million).
    order: Vec<usize>,
}

impl CounterFile {
    /// The counters with their full names, in the order of last time if there are as many.
    fn sorted(&mut self, mut pairs: Pairs) -> Values {
        let prefix = self.row.3;
        if !prefix.is_empty() {
            for (name, _) in &mut pairs {
                *name = match name.as_str() {
                    "" => prefix.into(),
                    name => format!("{prefix}_{name}").into(),
                };
            }
        }
        if self.order.len() != pairs.len() {
            self.order = (0..pairs.len()).collect();
            self.order.sort_by(|one, other| pairs[*one].0.cmp(&pairs[*other].0));
        }
        // A map sorts what it is made of, which costs next to nothing if it is sorted already.
        self.order.iter().map(|at| std::mem::take::<(Name, u64)>(&mut pairs[*at])).collect()
    }

    /// The whole file, from its beginning, into the buffer; returns the number of bytes.
    fn fill(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let has_short_records = self.row.0 != "interrupts";
        buffer.resize(buffer.len().max(BUFFER_BYTES), 0);
        let mut length = 0;
        loop {
            match self.file.read_at(&mut buffer[length..], length as u64) {
                Ok(0) => return Ok(length),
                // Most files are short, and each read costs more than what it returns.
                Ok(count) if length == 0 && count < WHOLE_BYTES && has_short_records => {
                    return Ok(count);
                }
                Ok(count) => length += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if length == buffer.len() {
                if length >= FILE_BYTES_MAX {
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
                buffer.resize(length * 2, 0);
            }
        }
    }
}

/// The text of a file, invalid bytes replaced for the parser to report. A check first is several
/// times faster than to replace nothing.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Why a counter file cannot be used.
#[derive(Debug)]
pub(crate) struct Refused {
    reason: String,
    pub(crate) is_absent: bool,
}

impl Refused {
    /// An entry in the list of what was missed.
    pub(crate) fn missed(self, capability: String) -> Missed {
        Missed { capability, reason: self.reason }
    }
}

/// What an answer of the kernel means here, where its words alone do not tell.
fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::Unsupported => " (this kernel has it, but it is switched off)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_switched_off_says_so() {
        const EOPNOTSUPP: i32 = 95;
        let hint = |number| hint(&io::Error::from_raw_os_error(number));
        assert_eq!(hint(EOPNOTSUPP), " (this kernel has it, but it is switched off)");
        assert_eq!(hint(2), "");
    }
}
