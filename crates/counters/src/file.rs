//! Counter files that stay open and are read repeatedly from their beginning, through one buffer.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use model::{CounterSet, Missed, Name, Values};

use crate::parse::{Pairs, ParseError};

/// First size of the buffer, in bytes; most files fit.
const BUFFER_BYTES: usize = 16 << 10;

/// Larger files, in bytes, are no counter files.
const FILE_BYTES_MAX: usize = 16 << 20;

/// A shorter first read, in bytes, is the whole file: the kernel fills at least a page unless the
/// next record does not fit (`Documentation/filesystems/seq_file.rst`). Not so with long records.
const WHOLE_BYTES: usize = 3 << 10;

pub(crate) type Parse = fn(&str) -> Result<Pairs, ParseError>;

/// A counter file and the source of its counters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) file: &'static str,
    pub(crate) source: &'static str,
    pub(crate) parse: Parse,
    /// Begins each name (`events` and `max` make `events_max`), or is the name of the only number.
    pub(crate) prefix: &'static str,
    /// Records may be longer than a page.
    pub(crate) is_long: bool,
}

pub(crate) const fn row(
    file: &'static str,
    source: &'static str,
    parse: Parse,
    prefix: &'static str,
) -> Row {
    Row { file, source, parse, prefix, is_long: false }
}

#[derive(Debug, Default)]
pub(crate) struct CounterFiles {
    files: Vec<CounterFile>,
    buffer: Vec<u8>,
}

impl CounterFiles {
    /// Opens a file of a directory and reads it once: some files open, but refuse to be read.
    pub(crate) fn open(&mut self, dir: &Path, row: Row) -> Result<(), Refused> {
        let path = dir.join(row.file);
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
        (row.parse)(&text_of(&self.buffer[..length])).map_err(|error| Refused {
            reason: format!("cannot understand {}: {error}", path.display()),
            is_absent: false,
        })?;
        self.files.push(opened);
        Ok(())
    }

    /// Reads the files. What cannot be read any more is absent, as is a source without counters.
    pub(crate) fn read(&mut self, with_long: bool) -> CounterSet {
        let mut set = CounterSet::new();
        for file in self.files.iter_mut().filter(|file| with_long || !file.row.is_long) {
            let Ok(length) = file.fill(&mut self.buffer) else { continue };
            let Ok(pairs) = (file.row.parse)(&text_of(&self.buffer[..length])) else { continue };
            if pairs.is_empty() {
                continue;
            }
            let values = file.sorted(pairs);
            match set.get_mut(file.row.source) {
                Some(there) => there.extend(values),
                None => drop(set.insert(file.row.source.into(), values)),
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
    /// Their sorted order, which never changes; sorting took a quarter of a read's instructions.
    order: Vec<usize>,
}

impl CounterFile {
    /// The counters with their full names, in the order of last time if there are as many.
    fn sorted(&mut self, mut pairs: Pairs) -> Values {
        let prefix = self.row.prefix;
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
        // Building a map from sorted entries costs next to nothing.
        self.order.iter().map(|at| std::mem::take::<(Name, u64)>(&mut pairs[*at])).collect()
    }

    /// Reads the whole file into the buffer; returns its length.
    fn fill(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        buffer.resize(buffer.len().max(BUFFER_BYTES), 0);
        let mut length = 0;
        loop {
            match self.file.read_at(&mut buffer[length..], length as u64) {
                Ok(0) => return Ok(length),
                // Each read costs more than the bytes that it returns.
                Ok(count) if length == 0 && count < WHOLE_BYTES && !self.row.is_long => {
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

/// The text of a file with invalid bytes replaced; a check is faster than to replace nothing.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

#[derive(Debug)]
pub(crate) struct Refused {
    reason: String,
    pub(crate) is_absent: bool,
}

impl Refused {
    pub(crate) fn missed(self, capability: String) -> Missed {
        Missed { capability, reason: self.reason }
    }
}

/// What an error of the kernel means here, where its text is not clear.
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
