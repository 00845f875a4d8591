//! The head of a block, and limits that keep broken files from using much memory.

use crate::TraceError;

pub(crate) const BLOCK_MAGIC: [u8; 4] = *b"TLTB";
pub(crate) const HEAD_BYTES: usize = 64;
const NO_TIME: u64 = u64::MAX;

/// References of a block at which it is full.
pub const REFERENCES_PER_BLOCK: u32 = 1 << 16;
const MOST_REFERENCES: u32 = 1 << 21;
pub(crate) const MOST_EVENTS: u32 = 1 << 16;
const MOST_EVENT_BYTES: u32 = 1 << 21;
/// Most bytes per reference in the pages column, with a new page's number, base and distance.
const MOST_PAGE_BYTES: u64 = 1 + 5 + 1 + 10;

/// The head of a block.
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
    pub(crate) pages_unpacked_bytes: u32,
    /// Bytes of its pages column.
    pub pages_bytes: u32,
    pub(crate) events_unpacked_bytes: u32,
    /// Bytes of its events column.
    pub events_bytes: u32,
    /// Bytes of its references column; 0 if it has none.
    pub references_bytes: u32,
    pub(crate) pages_checksum: u32,
    pub(crate) references_checksum: u32,
}

/// A block as the encoder leaves it: columns of bytes, not yet compressed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedBlock {
    /// Thread and counts; the caller sets the time, and the writer sizes and checksums.
    pub head: BlockHead,
    pub(crate) pages_column: Vec<u8>,
    pub(crate) references_column: Vec<u8>,
    pub(crate) events_column: Vec<u8>,
}

impl BlockHead {
    /// All numbers but the time, with their word index.
    fn numbers(&mut self) -> impl Iterator<Item = (usize, &mut u32)> {
        let first = [
            &mut self.process,
            &mut self.thread,
            &mut self.references,
            &mut self.runs,
            &mut self.events,
        ];
        let last = [
            &mut self.pages_unpacked_bytes,
            &mut self.pages_bytes,
            &mut self.events_unpacked_bytes,
            &mut self.events_bytes,
            &mut self.references_bytes,
            &mut self.pages_checksum,
            &mut self.references_checksum,
        ];
        (1..).zip(first).chain((8..).zip(last))
    }

    pub(crate) fn to_bytes(mut self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..4].copy_from_slice(&BLOCK_MAGIC);
        bytes[24..32].copy_from_slice(&self.at_ns.unwrap_or(NO_TIME).to_le_bytes());
        for (at, number) in self.numbers() {
            bytes[4 * at..][..4].copy_from_slice(&number.to_le_bytes());
        }
        let checksum = crc32fast::hash(&bytes[..HEAD_BYTES - 4]);
        bytes[HEAD_BYTES - 4..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The reverse of [`Self::to_bytes`].
    pub(crate) fn from_bytes(bytes: &[u8], place: &str) -> Result<Self, TraceError> {
        let broken = |what: &str| Err(TraceError::bad(place, what));
        let word =
            |at: usize| bytes[4 * at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        if !bytes.starts_with(&BLOCK_MAGIC) {
            return broken("no block begins here; the file is corrupt");
        }
        if crc32fast::hash(&bytes[..HEAD_BYTES - 4]) != word(15) {
            return broken(
                "the checksum of the head of a block is wrong; the file is corrupt here",
            );
        }
        let time = u64::from(word(6)) | u64::from(word(7)) << 32;
        let at_ns = Some(time).filter(|time| *time != NO_TIME);
        let mut head = Self { at_ns, ..Self::default() };
        head.numbers().for_each(|(at, number)| *number = word(at));
        if !head.is_possible() {
            return broken(
                "the head of a block has impossible sizes; the file is corrupt here, or of a \
                 later version",
            );
        }
        Ok(head)
    }

    pub(crate) fn is_possible(&self) -> bool {
        self.references <= MOST_REFERENCES
            && self.runs <= self.references
            && (self.references == 0) == (self.runs == 0)
            && self.events <= MOST_EVENTS
            && self.pages_unpacked_bytes >= self.references
            && u64::from(self.pages_unpacked_bytes) <= u64::from(self.references) * MOST_PAGE_BYTES
            && (self.events * 2..=MOST_EVENT_BYTES).contains(&self.events_unpacked_bytes)
            && self.pages_bytes <= self.pages_unpacked_bytes
            && self.references_bytes <= self.references_unpacked()
            && self.events_bytes <= self.events_unpacked_bytes
    }

    pub(crate) fn references_unpacked(&self) -> u32 {
        self.references * 2
    }

    pub(crate) fn first_bytes(&self) -> usize {
        self.pages_bytes as usize + self.events_bytes as usize
    }
}
