//! A block as the encoder leaves it: columns of bytes, not yet compressed.

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

/// `at_ns` of a block whose time is not known.
pub(crate) const NO_TIME: u64 = u64::MAX;

impl PackedBlock {
    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.references == 0 && self.events == 0
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
