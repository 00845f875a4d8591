//! Buffers that a disk transfers without the page cache.

use std::ops::Range;

const PAGE_BYTES: usize = 4096;

/// A buffer that begins with a page.
pub(super) struct Aligned {
    memory: Vec<u8>,
    range: Range<usize>,
}

impl Aligned {
    pub(super) fn zeroed(bytes: usize) -> Self {
        let memory = vec![0; bytes + PAGE_BYTES];
        // The vector stays as long as it is, so its memory does not move.
        let start = memory.as_ptr().align_offset(PAGE_BYTES);
        Self { memory, range: start..start + bytes }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.range.clone()]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.range.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_with_a_page() {
        for bytes in [0, 1, 4096, 12_345] {
            let mut aligned = Aligned::zeroed(bytes);
            assert_eq!(aligned.bytes_mut().len(), bytes);
            assert!(aligned.bytes().as_ptr().addr().is_multiple_of(PAGE_BYTES));
        }
    }
}
