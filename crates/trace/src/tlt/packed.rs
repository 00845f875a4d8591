//! A block as the encoder leaves it: columns of bytes, not yet compressed, with a plain form for
//! a pipe.

use std::io::Read;

use super::limits::{
    MOST_EVENT_BYTES, MOST_EVENTS, MOST_PAGE_BYTES, MOST_REFERENCES, REFERENCES_PER_BLOCK,
};
use crate::{Place, TraceError};

/// A block as the encoder leaves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedBlock {
    /// Number of the process, from 0.
    pub process: u32,
    /// Number of the thread within its process, from 0.
    pub thread: u32,
    /// When it was finished, in nanoseconds from the beginning of the recording; for its caller
    /// to set.
    pub at_ns: Option<u64>,
    /// How many references it has.
    pub references: u32,
    /// How many runs of references to one page.
    pub runs: u32,
    /// How many events.
    pub events: u32,
    pub(crate) pages_column: Vec<u8>,
    pub(crate) references_column: Vec<u8>,
    pub(crate) events_column: Vec<u8>,
}

/// The bytes before the columns in a pipe.
const HEAD_BYTES: usize = 44;
/// Their first four.
const MAGIC: u32 = u32::from_le_bytes(*b"TLTP");
/// `at_ns` of a block whose time is not known.
pub(crate) const NO_TIME: u64 = u64::MAX;

impl PackedBlock {
    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.references == 0 && self.events == 0
    }

    /// How many bytes its columns have.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.pages_column.len() + self.references_column.len() + self.events_column.len()
    }

    /// The block for a pipe between processes of one version; it knows its own length.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.size_bytes());
        self.append_to(&mut bytes);
        bytes
    }

    /// Appends what [`Self::to_bytes`] makes.
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        let columns = [&self.pages_column, &self.references_column, &self.events_column];
        let numbers = [MAGIC, self.process, self.thread, self.references, self.runs, self.events];
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend(self.at_ns.unwrap_or(NO_TIME).to_le_bytes());
        columns.iter().for_each(|column| bytes.extend((column.len() as u32).to_le_bytes()));
        columns.iter().for_each(|column| bytes.extend(*column));
    }

    /// What [`Self::to_bytes`] made.
    ///
    /// # Errors
    /// When it is something else, or not all of it.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, TraceError> {
        let cut_off = || TraceError::bad(&Place::Byte(0), "there is no block in the pipe");
        Self::read_from(&mut bytes)?.ok_or_else(cut_off)
    }

    /// Reads the next block from a pipe; `None` at its end, and also if it ends within a block
    /// (its writer was killed).
    ///
    /// # Errors
    /// When the pipe cannot be read or has something else in it.
    pub fn read_from(pipe: &mut impl Read) -> Result<Option<Self>, TraceError> {
        let mut head = [0; HEAD_BYTES];
        if !fill(pipe, &mut head)? {
            return Ok(None);
        }
        let number =
            |at: usize| head[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let time = u64::from(number(24)) | u64::from(number(28)) << 32;
        let mut block = Self {
            process: number(4),
            thread: number(8),
            references: number(12),
            runs: number(16),
            events: number(20),
            at_ns: Some(time).filter(|time| *time != NO_TIME),
            pages_column: vec![],
            references_column: vec![],
            events_column: vec![],
        };
        let lengths = [number(32), number(36), number(40)];
        if number(0) != MAGIC || !block.could_have(lengths) {
            let reason = "what is in the pipe is no block; are both ends of one version?";
            return Err(TraceError::bad(&Place::Byte(0), reason));
        }
        let columns =
            [&mut block.pages_column, &mut block.references_column, &mut block.events_column];
        for (column, length) in columns.into_iter().zip(lengths) {
            column.resize(length as usize, 0);
            if !fill(pipe, column)? {
                return Ok(None);
            }
        }
        Ok(Some(block))
    }

    /// Whether columns of these lengths (pages, references, events) can hold what it counts.
    pub(crate) fn could_have(&self, lengths: [u32; 3]) -> bool {
        let [pages, references, events] = lengths;
        self.references <= MOST_REFERENCES
            && self.runs <= self.references
            && (self.references == 0) == (self.runs == 0)
            && self.events <= MOST_EVENTS
            && u64::from(pages) <= u64::from(self.references) * MOST_PAGE_BYTES
            && pages >= self.references
            && (references == 0 || references == self.references * 2)
            && events <= MOST_EVENT_BYTES
            && events >= self.events * 2
    }

    /// Whether it is too large for the format, as its encoder was not asked to finish in time.
    pub(crate) fn check(&self) -> Result<(), TraceError> {
        let columns = [&self.pages_column, &self.references_column, &self.events_column];
        let lengths = columns.map(|column| u32::try_from(column.len()).unwrap_or(u32::MAX));
        if self.could_have(lengths) {
            return Ok(());
        }
        Err(TraceError::bad(
            &Place::Byte(0),
            format!(
                "a block of {} references and {} events is too large to write; finish blocks of \
                 {REFERENCES_PER_BLOCK} references",
                self.references, self.events
            ),
        ))
    }
}

/// Fills a buffer; `false` if the input ends before.
pub(crate) fn fill(input: &mut impl Read, mut buffer: &mut [u8]) -> Result<bool, TraceError> {
    while !buffer.is_empty() {
        match input.read(buffer) {
            Ok(0) => return Ok(false),
            Ok(count) => buffer = &mut buffer[count..],
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}
