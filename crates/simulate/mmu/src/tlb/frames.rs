//! Guest-physical memory: frames in the order of first use.

use std::collections::HashMap;

use super::page_size::PageSize;
use super::space::Owner;

/// Small pages of a 2 MiB page.
const CHUNK: u64 = 1 << 9;

#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    known: HashMap<(Owner, u32, u64), u64>,
    next: u64,
    /// The next free chunk of 2 MiB, after `next`.
    next_chunk: u64,
}

impl Frames {
    /// The first frame of a table (level from 1) or a page of data (level 0).
    pub(crate) fn frame(&mut self, owner: Owner, level: u32, number: u64, size: PageSize) -> u64 {
        if let Some(frame) = self.known.get(&(owner, level, number)) {
            return *frame;
        }
        let frame = self.allocate(size);
        self.known.insert((owner, level, number), frame);
        frame
    }

    fn allocate(&mut self, size: PageSize) -> u64 {
        match size {
            PageSize::Small => {
                if self.next.is_multiple_of(CHUNK) {
                    self.next = self.next_chunk * CHUNK;
                    self.next_chunk += 1;
                }
                self.next += 1;
                self.next - 1
            }
            PageSize::Huge => {
                self.next_chunk += 1;
                (self.next_chunk - 1) * CHUNK
            }
            PageSize::Giant => {
                let first = self.next_chunk.next_multiple_of(CHUNK);
                self.next_chunk = first + CHUNK;
                first * CHUNK
            }
        }
    }
}
