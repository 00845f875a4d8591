//! The index at the end of a file: where blocks begin. A truncated file has none.

pub(crate) const INDEX_MAGIC: [u8; 4] = *b"TLTI";
/// The last bytes of a complete file.
const END_MAGIC: [u8; 8] = *b"TLTEND\r\n";
/// With more blocks, every second, fourth, … is indexed.
const MOST_ENTRIES: usize = 1 << 16;

#[derive(Default)]
pub(crate) struct Index {
    blocks: u64,
    pub(crate) references: u64,
    /// A block's first byte, and the references and blocks before it.
    entries: Vec<[u64; 3]>,
    /// log2 of the blocks per entry.
    stride_log2: u32,
}

impl Index {
    pub(crate) fn add(&mut self, byte: u64, references: u32) {
        if self.blocks.is_multiple_of(1 << self.stride_log2) {
            if self.entries.len() == MOST_ENTRIES {
                self.stride_log2 += 1;
                let stride = 1 << self.stride_log2;
                self.entries.retain(|[.., number]| number.is_multiple_of(stride));
            }
            // Half of an even number was removed, so this one is still due.
            self.entries.push([byte, self.references, self.blocks]);
        }
        self.blocks += 1;
        self.references += u64::from(references);
    }

    /// The index and the file's end, starting at this byte.
    pub(crate) fn to_bytes(&self, at_byte: u64) -> Vec<u8> {
        let mut bytes = INDEX_MAGIC.to_vec();
        bytes.extend((self.entries.len() as u32).to_le_bytes());
        let words = [self.blocks, self.references].into_iter();
        bytes
            .extend(words.chain(self.entries.iter().copied().flatten()).flat_map(u64::to_le_bytes));
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
        assert_eq!(index.stride_log2, 2);
        for (place, entry) in index.entries.iter().enumerate() {
            let number = 4 * place as u64;
            assert_eq!(*entry, [100 * number, 7 * number, number]);
        }
        let bytes = index.to_bytes(5);
        assert_eq!(bytes.len(), 24 + 24 * index.entries.len() + 4 + 16);
        assert_eq!(&bytes[bytes.len() - 16..], b"\x05\0\0\0\0\0\0\0TLTEND\r\n");
    }
}
