//! What is made of references: blocks for a simulator, packed blocks for a file.

use std::ops::Range;

use trace::{Block, Columns, Encoder, Event, PAGE_SHIFT, PackedBlock, PageRun, Reference};

use crate::stream::Taker;
use crate::wire;

/// References at which a block is full.
const MOST_REFERENCES: usize = 1 << 16;
/// Events at which it is.
const MOST_EVENTS: usize = 1 << 12;
/// References that are packed at a time.
const PENDING: usize = 512;
/// Bits of a word below the address.
const ADDRESS_SHIFT: u32 = 5;
/// Bit of a word that is 1 in a store.
const STORE: u64 = 1 << 3;

/// Fills a block.
pub(crate) struct BlockTaker<'a> {
    block: &'a mut Block,
    pages: bool,
    references: usize,
    /// The run that may go on; of no references if there is none.
    open: PageRun,
}

impl<'a> BlockTaker<'a> {
    /// Begins a block before which there are `first` references; with `pages` without single ones.
    pub(crate) fn new(block: &'a mut Block, first: u64, pages: bool) -> Self {
        block.first = first;
        block.runs.clear();
        block.references.clear();
        block.events.clear();
        let open = PageRun { page: 0, count: 0, fetch: false, written: false };
        Self { block, pages, references: 0, open }
    }

    /// Ends the block; how many references it has.
    pub(crate) fn finish(mut self) -> u64 {
        self.close();
        self.references as u64
    }

    #[inline]
    fn add(&mut self, run: PageRun) {
        self.references += run.count as usize;
        if self.open.page == run.page && self.open.fetch == run.fetch && self.open.count > 0 {
            self.open.count += run.count;
            self.open.written |= run.written;
        } else {
            self.close();
            self.open = run;
        }
    }

    #[inline]
    fn close(&mut self) {
        if self.open.count > 0 {
            self.block.runs.push(self.open);
            self.open.count = 0;
        }
    }
}

impl Taker for BlockTaker<'_> {
    fn begin(&mut self, process: u32, thread: u32) {
        self.block.process = process;
        self.block.thread = thread;
    }

    #[inline]
    fn reference(&mut self, word: u64) {
        let page = (word.cast_signed() >> (ADDRESS_SHIFT + PAGE_SHIFT)).cast_unsigned();
        let fetch = word & wire::NO_ACCESS == wire::FETCH;
        self.add(PageRun { page, count: 1, fetch, written: word & STORE != 0 });
        if !self.pages {
            self.block.references.extend(Reference::from_bits(word));
        }
    }

    fn fetches(&mut self, address: u64, count: u32) {
        let page = (address.cast_signed() >> PAGE_SHIFT).cast_unsigned();
        self.add(PageRun { page, count, fetch: true, written: false });
    }

    fn event(&mut self, event: Event) {
        self.close();
        self.block.events.push((self.block.runs.len() as u32, event));
    }

    fn is_full(&self) -> bool {
        self.references >= MOST_REFERENCES || self.block.events.len() >= MOST_EVENTS
    }
}

/// Packs what is in a range of the references; of what stands before it, the events.
pub(crate) struct EncoderTaker {
    encoder: Encoder,
    range: Range<u64>,
    /// How many references there were, whether in the range or not.
    seen: u64,
    /// References that are not packed yet: many at a time are quicker.
    pending: Vec<Reference>,
    is_full: bool,
}

impl EncoderTaker {
    /// A packer, with `pages` of pages only.
    pub(crate) fn new(pages: bool, range: Range<u64>) -> Self {
        let columns = if pages { Columns::Pages } else { Columns::References };
        let encoder = Encoder::new(0, 0, columns);
        Self { encoder, range, seen: 0, pending: Vec::with_capacity(PENDING), is_full: false }
    }

    /// Ends the block.
    pub(crate) fn finish_into(&mut self, block: &mut PackedBlock) {
        self.pack_pending();
        self.encoder.finish_into(block);
        self.is_full = false;
    }

    #[inline(never)]
    fn pack_pending(&mut self) {
        let mut rest = self.pending.as_slice();
        // It stops when the block is full, and takes some more all the same.
        while !rest.is_empty() {
            rest = &rest[self.encoder.push_all(rest)..];
        }
        self.pending.clear();
        self.is_full |= self.encoder.is_full();
    }

    /// How many references there were.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Whether all references to come are behind the range.
    pub(crate) fn is_done(&self) -> bool {
        self.seen >= self.range.end
    }
}

impl Taker for EncoderTaker {
    fn begin(&mut self, process: u32, thread: u32) {
        // What was packed before was finished.
        self.encoder.set_thread(process, thread);
    }

    #[inline]
    fn reference(&mut self, word: u64) {
        let is_wanted = self.range.contains(&self.seen);
        self.seen += 1;
        if is_wanted && let Some(reference) = Reference::from_bits(word) {
            self.pending.push(reference);
            if self.pending.len() == PENDING {
                self.pack_pending();
            }
        }
    }

    fn fetches(&mut self, address: u64, count: u32) {
        let page = (address.cast_signed() >> PAGE_SHIFT).cast_unsigned();
        let first = self.seen.max(self.range.start);
        self.seen += u64::from(count);
        let count = self.seen.min(self.range.end).saturating_sub(first) as u32;
        if count > 0 {
            self.pack_pending();
            let run = PageRun { page, count, fetch: true, written: false };
            self.is_full |= self.encoder.push_run(run);
        }
    }

    fn event(&mut self, event: Event) {
        if !self.is_done() {
            self.pack_pending();
            self.is_full |= self.encoder.event(&event);
        }
    }

    fn is_full(&self) -> bool {
        self.is_full || self.is_done()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Access;

    #[test]
    fn references_to_one_page_are_one_run_and_events_stand_between() {
        let mut block = Block::default();
        let mut taker = BlockTaker::new(&mut block, 9, false);
        taker.begin(1, 2);
        let references = [
            Reference::new(0x1000, Access::Load, 3),
            Reference::new(0x1ff8, Access::Store, 2),
            Reference::new(0x1ffc, Access::Fetch, 0),
            Reference::new(0x1000, Access::Load, 3),
        ];
        let word = |address: u64, access: u64, size: u64| address << 5 | access << 3 | size;
        taker.reference(word(0x1000, 0, 3));
        taker.reference(word(0x1ff8, 1, 2));
        taker.reference(word(0x1ffc, 2, 0));
        taker.reference(word(0x1000, 0, 3));
        taker.event(Event::ThreadEnd);
        taker.fetches(0x1000, 5);
        assert_eq!(taker.finish(), 9);
        let run = |count, fetch, written| PageRun { page: 1, count, fetch, written };
        assert_eq!(
            block.runs,
            [run(2, false, true), run(1, true, false), run(1, false, false), run(5, true, false)]
        );
        assert_eq!(block.events, [(3, Event::ThreadEnd)]);
        assert_eq!(block.references, references);
        assert_eq!((block.process, block.thread, block.first), (1, 2, 9));
    }

    #[test]
    fn only_what_is_in_the_range_is_packed_but_all_events_before_it() {
        let mut taker = EncoderTaker::new(true, 3..8);
        taker.begin(4, 5);
        taker.event(Event::ThreadStart);
        for page in 0..5 {
            taker.reference(page << (PAGE_SHIFT + ADDRESS_SHIFT));
        }
        assert!(!taker.is_full());
        taker.fetches(0x9000, 10);
        taker.event(Event::ThreadEnd);
        assert!(taker.is_full());
        let mut block = PackedBlock::default();
        taker.finish_into(&mut block);
        let counts = (block.process, block.thread, block.references, block.runs, block.events);
        assert_eq!(counts, (4, 5, 5, 3, 1));
        assert_eq!(taker.seen(), 15);
    }
}
