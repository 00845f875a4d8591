//! The index at the end of a file: where blocks begin. A file that was cut off has none and is
//! read from its beginning.

use crate::{Place, TraceError};

/// Its first four bytes.
pub(crate) const INDEX_MAGIC: [u8; 4] = *b"TLTI";
/// The last bytes of a file that is complete.
const END_MAGIC: [u8; 8] = *b"TLTEND\r\n";
/// Bytes behind the index: where it begins, and [`END_MAGIC`].
pub(crate) const END_BYTES: usize = 16;
/// Bytes before the entries.
const HEAD_BYTES: usize = 24;
/// More blocks than this have only every second, fourth, … in the index.
const MOST_ENTRIES: usize = 1 << 16;

/// Where a block begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The block's first byte.
    pub(crate) byte: u64,
    /// How many references stand before it.
    pub(crate) first: u64,
    /// How many blocks stand before it.
    pub(crate) number: u64,
}

/// Where blocks begin, and how many there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Index {
    pub(crate) blocks: u64,
    pub(crate) references: u64,
    pub(crate) entries: Vec<Entry>,
    /// Every how many blocks have an entry.
    stride: u64,
}

impl Default for Index {
    fn default() -> Self {
        Self { blocks: 0, references: 0, entries: Vec::new(), stride: 1 }
    }
}

impl Index {
    /// Adds the next block.
    pub(crate) fn add(&mut self, byte: u64, references: u32) {
        if self.blocks.is_multiple_of(self.stride) {
            if self.entries.len() == MOST_ENTRIES {
                let mut number = 0_u64;
                self.entries.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.stride *= 2;
            }
            // Of an even number of entries half are left, so this one is due still.
            self.entries.push(Entry { byte, first: self.references, number: self.blocks });
        }
        self.blocks += 1;
        self.references += u64::from(references);
    }

    /// The index and the end of the file, for an index that begins at this byte.
    pub(crate) fn to_bytes(&self, at_byte: u64) -> Vec<u8> {
        let mut bytes = INDEX_MAGIC.to_vec();
        bytes.extend((self.entries.len() as u32).to_le_bytes());
        bytes.extend(self.blocks.to_le_bytes());
        bytes.extend(self.references.to_le_bytes());
        for entry in &self.entries {
            bytes.extend(entry.byte.to_le_bytes());
            bytes.extend(entry.first.to_le_bytes());
            bytes.extend(entry.number.to_le_bytes());
        }
        let checksum = crc32fast::hash(&bytes);
        bytes.extend(checksum.to_le_bytes());
        bytes.extend(at_byte.to_le_bytes());
        bytes.extend(END_MAGIC);
        bytes
    }

    /// Where the index begins, from the last bytes of a file; `None` if it has none.
    pub(crate) fn begins(end: &[u8; END_BYTES]) -> Option<u64> {
        let (at_byte, magic) = end.split_first_chunk()?;
        (magic == END_MAGIC.as_slice()).then(|| u64::from_le_bytes(*at_byte))
    }

    /// The index from its own bytes, without the end of the file.
    pub(crate) fn from_bytes(bytes: &[u8], at_byte: u64) -> Result<Self, TraceError> {
        let broken = || {
            let reason = "the index is broken; thrashlab trace convert makes a new one";
            TraceError::bad(&Place::Index { byte: at_byte }, reason)
        };
        let (content, checksum) = bytes.split_last_chunk::<4>().ok_or_else(broken)?;
        let right = crc32fast::hash(content) == u32::from_le_bytes(*checksum);
        if !right || content.len() < HEAD_BYTES || !content.starts_with(&INDEX_MAGIC) {
            return Err(broken());
        }
        let number =
            |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let entries = content[HEAD_BYTES..]
            .chunks_exact(24)
            .map(|entry| Entry {
                byte: number(entry),
                first: number(&entry[8..]),
                number: number(&entry[16..]),
            })
            .collect();
        let (blocks, references) = (number(&content[8..]), number(&content[16..]));
        Ok(Self { blocks, references, entries, stride: 1 })
    }

    /// The longest that an index can be, with the end of the file.
    pub(crate) fn longest_bytes() -> u64 {
        (HEAD_BYTES + MOST_ENTRIES * 24 + 4 + END_BYTES) as u64
    }

    /// The last entry that has no more than so many references before it.
    pub(crate) fn before(&self, reference: u64) -> Option<Entry> {
        let behind = self.entries.partition_point(|entry| entry.first <= reference);
        self.entries.get(behind.checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_of_many_blocks_stays_short_and_regular() {
        let mut index = Index::default();
        for block in 0..200_000 {
            index.add(100 * block, 7);
        }
        assert!(index.entries.len() <= MOST_ENTRIES);
        assert_eq!(index.stride, 4);
        for (place, entry) in index.entries.iter().enumerate() {
            assert_eq!(entry.number, 4 * place as u64);
            assert_eq!((entry.byte, entry.first), (100 * entry.number, 7 * entry.number));
        }
        assert_eq!(index.before(7 * 9), Some(index.entries[2]));
        let bytes = index.to_bytes(5);
        let (content, end) = bytes.split_last_chunk().unwrap();
        assert_eq!(Index::begins(end), Some(5));
        let read = Index::from_bytes(content, 5).unwrap();
        assert_eq!((read.blocks, read.references), (200_000, 1_400_000));
        assert_eq!(read.entries, index.entries);
    }
}
