//! Counter files that stay open and are read repeatedly from their beginning, through one buffer.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use model::{CounterSet, Name, Values};

use crate::parse::{Pairs, ParseError};

/// First size of the buffer, in bytes; most files fit.
const BUFFER_BYTES: usize = 16 << 10;

/// Larger files, in bytes, are not counter files.
const FILE_BYTES_MAX: usize = 16 << 20;

/// A first read shorter than this, in bytes, returned the whole file: the kernel fills at least a
/// page unless the next record does not fit (`Documentation/filesystems/seq_file.rst`). Files with
/// long records are an exception.
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

/// Open counter files: those of the machine and of one sandbox, or of a task.
#[derive(Debug, Default)]
pub struct Reader {
    files: Vec<CounterFile>,
    buffer: Vec<u8>,
}

impl Reader {
    /// Opens a file of a directory and reads it once, since some files open, but refuse to be read;
    /// returns why it cannot be used.
    pub(crate) fn add(&mut self, dir: &Path, row: Row, may_be_absent: bool) -> Option<String> {
        let path = dir.join(row.file);
        let refused = |doing, error: io::Error| {
            let is_absent = error.kind() == io::ErrorKind::NotFound;
            let why = format!("cannot {doing} {}: {error}{}", path.display(), hint(&error));
            (!is_absent || !may_be_absent).then_some(why)
        };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) => return refused("open", error),
        };
        let opened = CounterFile { file, row, order: Vec::new() };
        let length = match opened.fill(&mut self.buffer) {
            Ok(length) => length,
            Err(error) => return refused("read", error),
        };
        if let Err(error) = (row.parse)(&text_of(&self.buffer[..length])) {
            return Some(format!("cannot understand {}: {error}", path.display()));
        }
        self.files.push(opened);
        None
    }

    /// Reads every open file once; what cannot be read any more is absent, as is a source without
    /// counters. `interrupts` only `with_long`: on two CPUs it takes a third of the kernel's time
    /// for all counters (103 of 294 µs).
    pub fn read(&mut self, with_long: bool) -> CounterSet {
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
