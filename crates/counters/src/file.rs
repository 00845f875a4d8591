//! One counter file that stays open and is read again and again from its beginning.
//!
//! **Invariant:** a read allocates only for the values that it returns: the text goes to a buffer
//! that the caller keeps.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use model::{CounterSet, Missed, Name};

use crate::parse::{self, Pairs, ParseError, Values};

/// Size that a buffer begins with, in bytes: most files fit and are read in one call.
const BUFFER_BYTES: usize = 16 << 10;

/// Size that no counter file reaches, in bytes; a larger one is not a counter file.
const FILE_BYTES_MAX: usize = 16 << 20;

/// A first read that is shorter than this, in bytes, has returned the whole file: the kernel fills
/// at least a page unless the next record does not fit in (`Documentation/filesystems/seq_file.rst`),
/// and no record is as long as the rest of a page. Of `/proc/interrupts` that is not so: a row has a
/// column for each CPU.
const WHOLE_BYTES: usize = 3 << 10;

/// How the text of a file becomes counters.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Format {
    /// Names and numbers as they stand.
    Flat,
    /// Names and numbers, with a prefix before each name.
    FlatPrefixed(&'static str),
    /// The version 1 `cpu.stat`, whose two times have no unit in their names.
    FlatCpuV1,
    /// `/proc/meminfo`.
    Colon,
    /// `/proc/stat`.
    ProcStat,
    /// Totals of pressure, with the resource before each name.
    Pressure(&'static str),
    /// One number, with this name.
    Single(&'static str),
    /// A limit, with this name; no counter at all if there is none.
    Limit(&'static str),
    /// `/proc/interrupts`.
    Interrupts,
    /// `/proc/PID/schedstat`.
    Schedstat,
    /// `/proc/PID/stat`.
    TaskStat,
}

impl Format {
    /// Reads a text in this format, in its order.
    fn parse(self, text: &str) -> Result<Pairs, ParseError> {
        let sorted = |values: Values| values.into_iter().collect();
        match self {
            Self::Flat => parse::flat_pairs(text),
            Self::FlatPrefixed(prefix) => Ok(prefixed(prefix, parse::flat_pairs(text)?)),
            Self::FlatCpuV1 => Ok(with_ns(parse::flat_pairs(text)?)),
            Self::Colon => parse::colon_pairs(text),
            Self::ProcStat => parse::proc_stat(text).map(sorted),
            Self::Pressure(resource) => Ok(prefixed(resource, parse::pressure(text)?)),
            Self::Single(name) => Ok(vec![(name.into(), parse::single_value(text)?)]),
            Self::Limit(name) => {
                Ok(parse::limit(text)?.map(|bytes| (name.into(), bytes)).into_iter().collect())
            }
            Self::Interrupts => parse::interrupts(text).map(sorted),
            Self::Schedstat => parse::schedstat(text).map(sorted),
            Self::TaskStat => parse::task_stat(text).map(sorted),
        }
    }
}

/// `max` and `events_` make `events_max`.
fn prefixed(prefix: &str, values: impl IntoIterator<Item = (Name, u64)>) -> Pairs {
    values.into_iter().map(|(name, value)| (format!("{prefix}_{name}").into(), value)).collect()
}

/// Gives `throttled_time` and `burst_time` their unit, which is ns in version 1 of control groups.
fn with_ns(values: Pairs) -> Pairs {
    let unit = |name: Name| if name.ends_with("_time") { name + "_ns" } else { name };
    values.into_iter().map(|(name, value)| (unit(name), value)).collect()
}

/// Where the counters of a file stand when they are sorted by name. The kernel names the same ones
/// in the same order every time; to sort them again took a quarter of the instructions of reading
/// them (7.8 of 30 million).
#[derive(Debug, Default)]
struct Order(Vec<usize>);

impl Order {
    /// The counters, brought into the order of the last time if these are as many.
    fn sorted(&mut self, mut pairs: Pairs) -> Values {
        if self.0.len() != pairs.len() {
            self.0 = (0..pairs.len()).collect();
            self.0.sort_by(|one, other| pairs[*one].0.cmp(&pairs[*other].0));
        }
        // A map sorts what it is made of, which costs next to nothing if it is sorted already.
        self.0.iter().map(|at| std::mem::take(&mut pairs[*at])).collect()
    }
}

/// An open counter file.
#[derive(Debug)]
pub(crate) struct CounterFile {
    file: File,
    source: &'static str,
    format: Format,
    order: Order,
}

impl CounterFile {
    /// Opens a file and reads it once, because some files open and then refuse to be read.
    pub(crate) fn open(
        path: &Path,
        source: &'static str,
        format: Format,
        buffer: &mut Vec<u8>,
    ) -> Result<Self, FileError> {
        let io_error = |doing| move |error| FileError::Io { doing, path: path.into(), error };
        let file = File::open(path).map_err(io_error("open"))?;
        let opened = Self { file, source, format, order: Order::default() };
        let length = opened.fill(buffer).map_err(io_error("read"))?;
        let text = text_of(&buffer[..length]);
        format.parse(&text).map_err(|error| FileError::Parse { path: path.into(), error })?;
        Ok(opened)
    }

    /// Reads the file and adds its counters to their source; adds nothing if it cannot be read.
    pub(crate) fn read_into(&mut self, buffer: &mut Vec<u8>, set: &mut CounterSet) {
        let Ok(length) = self.fill(buffer) else { return };
        let text = text_of(&buffer[..length]);
        let Ok(pairs) = self.format.parse(&text) else { return };
        if pairs.is_empty() {
            return;
        }
        let values = self.order.sorted(pairs);
        match set.get_mut(self.source) {
            Some(there) => there.extend(values),
            None => {
                set.insert(self.source.into(), values);
            }
        }
    }

    /// Whether no record can be as long as a page.
    pub(crate) fn has_short_records(&self) -> bool {
        !matches!(self.format, Format::Interrupts)
    }

    /// The whole file, from its beginning, into the buffer; returns the number of bytes.
    fn fill(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        buffer.resize(buffer.len().max(BUFFER_BYTES), 0);
        let mut length = 0;
        loop {
            match self.file.read_at(&mut buffer[length..], length as u64) {
                Ok(0) => return Ok(length),
                // Most files are short, and each read costs more than what it returns.
                Ok(count) if length == 0 && count < WHOLE_BYTES && self.has_short_records() => {
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

/// The text of a file; what is no text is replaced, so that the parser can say where it stands.
/// Checked first, because that is several times faster than to replace nothing.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Why a counter file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// The kernel refused.
    #[error("cannot {doing} {}: {error}{}", path.display(), hint(error))]
    Io {
        /// What was tried: open or read.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        error: io::Error,
    },
    /// The file is not in the format that it should have.
    #[error("cannot understand {}: {error}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and why.
        error: ParseError,
    },
}

/// What an answer of the kernel means here, where its words alone do not tell.
fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::Unsupported => " (this kernel has it, but it is switched off)",
        _ => "",
    }
}

impl FileError {
    /// Whether there is no such file.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { error, .. } if error.kind() == io::ErrorKind::NotFound)
    }

    /// The error as an entry in the list of what was missed.
    pub(crate) fn missed(&self, capability: &str) -> Missed {
        Missed { capability: capability.to_owned(), reason: self.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_that_is_switched_off_says_so() {
        const EOPNOTSUPP: i32 = 95;
        let error = FileError::Io {
            doing: "read",
            path: "/proc/pressure/cpu".into(),
            error: io::Error::from_raw_os_error(EOPNOTSUPP),
        };
        let reason = error.missed("psi/cpu").reason;
        assert!(reason.starts_with("cannot read /proc/pressure/cpu: "), "{reason}");
        assert!(reason.ends_with("(this kernel has it, but it is switched off)"), "{reason}");
        assert!(!error.is_not_found());
    }
}
