//! The index at the end of a file: where blocks begin, for programs that do not read it from its
//! beginning. A file that was cut off has none.

/// Its first four bytes.
pub(crate) const INDEX_MAGIC: [u8; 4] = *b"TLTI";
/// The last bytes of a file that is complete.
const END_MAGIC: [u8; 8] = *b"TLTEND\r\n";
/// More blocks than this have only every second, fourth, … in the index.
const MOST_ENTRIES: usize = 1 << 16;

/// Where a block begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// The block's first byte.
    byte: u64,
    /// How many references stand before it.
    first: u64,
    /// How many blocks stand before it.
    number: u64,
}

/// Where blocks begin, and how many there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Index {
    blocks: u64,
    pub(crate) references: u64,
    entries: Vec<Entry>,
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
        let bytes = index.to_bytes(5);
        assert_eq!(bytes.len(), 24 + 24 * index.entries.len() + 4 + 16);
        assert_eq!(&bytes[bytes.len() - 16..], b"\x05\0\0\0\0\0\0\0TLTEND\r\n");
    }
}
