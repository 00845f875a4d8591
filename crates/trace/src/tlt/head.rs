//! The head of a block in a file.

use super::limits::{MOST_EVENT_BYTES, MOST_REFERENCES};
use super::packed::{NO_TIME, PackedBlock};
use crate::{Place, TraceError};

/// Its first four bytes.
pub(crate) const BLOCK_MAGIC: [u8; 4] = *b"TLTB";
/// How long it is.
pub(crate) const HEAD_BYTES: usize = 64;

/// What the head of a block tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockHead {
    /// Number of the process, from 0.
    pub process: u32,
    /// Number of the thread within its process, from 0.
    pub thread: u32,
    /// How many references it has.
    pub references: u32,
    /// How many runs of references to one page.
    pub runs: u32,
    /// How many events.
    pub events: u32,
    /// When it was finished, in nanoseconds from the beginning of the recording, if that is known.
    pub at_ns: Option<u64>,
    /// Bytes of its pages column before compression.
    pub pages_unpacked_bytes: u32,
    /// Bytes of its pages column.
    pub pages_bytes: u32,
    /// Bytes of its events column before compression.
    pub events_unpacked_bytes: u32,
    /// Bytes of its events column.
    pub events_bytes: u32,
    /// Bytes of its references column; 0 if it has none.
    pub references_bytes: u32,
    /// The checksum of pages and events column.
    pub(crate) pages_checksum: u32,
    /// The checksum of the references column.
    pub(crate) references_checksum: u32,
}

impl BlockHead {
    pub(crate) fn to_bytes(self) -> [u8; HEAD_BYTES] {
        let time = self.at_ns.unwrap_or(NO_TIME);
        let numbers = [
            u32::from_le_bytes(BLOCK_MAGIC),
            self.process,
            self.thread,
            self.references,
            self.runs,
            self.events,
            time as u32,
            (time >> 32) as u32,
            self.pages_unpacked_bytes,
            self.pages_bytes,
            self.events_unpacked_bytes,
            self.events_bytes,
            self.references_bytes,
            self.pages_checksum,
            self.references_checksum,
        ];
        let mut bytes = [0; HEAD_BYTES];
        for (place, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let checksum = crc32fast::hash(&bytes[..HEAD_BYTES - 4]);
        bytes[HEAD_BYTES - 4..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// What [`Self::to_bytes`] made, if it can be.
    pub(crate) fn from_bytes(bytes: &[u8; HEAD_BYTES], place: &Place) -> Result<Self, TraceError> {
        let number =
            |at: usize| bytes[4 * at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        if crc32fast::hash(&bytes[..HEAD_BYTES - 4]) != number(15) {
            let reason = "the checksum of the head of a block is wrong; the file is broken here";
            return Err(TraceError::bad(place, reason));
        }
        let time = u64::from(number(6)) | u64::from(number(7)) << 32;
        let head = Self {
            process: number(1),
            thread: number(2),
            references: number(3),
            runs: number(4),
            events: number(5),
            at_ns: Some(time).filter(|time| *time != NO_TIME),
            pages_unpacked_bytes: number(8),
            pages_bytes: number(9),
            events_unpacked_bytes: number(10),
            events_bytes: number(11),
            references_bytes: number(12),
            pages_checksum: number(13),
            references_checksum: number(14),
        };
        if !head.is_possible() {
            let reason = "the head of a block tells impossible sizes; the file is broken here, or \
                          of a later version";
            return Err(TraceError::bad(place, reason));
        }
        Ok(head)
    }

    /// Whether the numbers fit each other and are within the limits.
    fn is_possible(&self) -> bool {
        let counted = PackedBlock {
            references: self.references,
            runs: self.runs,
            events: self.events,
            ..PackedBlock::default()
        };
        let references = if self.references_bytes == 0 { 0 } else { self.references_unpacked() };
        self.references <= MOST_REFERENCES
            && self.events_unpacked_bytes <= MOST_EVENT_BYTES
            && counted.could_have([
                self.pages_unpacked_bytes,
                references,
                self.events_unpacked_bytes,
            ])
            && self.pages_bytes <= self.pages_unpacked_bytes
            && self.references_bytes <= references
            && self.events_bytes <= self.events_unpacked_bytes
    }

    /// Bytes of its references column before compression, if it has one.
    pub(crate) fn references_unpacked(&self) -> u32 {
        self.references * 2
    }

    /// Bytes of all its columns in the file.
    pub(crate) fn body_bytes(&self) -> u64 {
        u64::from(self.pages_bytes)
            + u64::from(self.events_bytes)
            + u64::from(self.references_bytes)
    }
}
