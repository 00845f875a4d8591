//! Where references go: blocks for a simulator, packed blocks for a file.

use std::ops::Range;

use trace::{Block, Encoder, Event, Granularity, PAGE_SHIFT, PackedBlock, PageRun, ReferenceWords};

use crate::stream::Taker;
use crate::wire;

/// References of a full block.
const MOST_REFERENCES: usize = 1 << 16;
const MOST_EVENTS: usize = 1 << 12;
/// Position of the address in a word.
const ADDRESS_SHIFT: u32 = 5;
/// The bit of a store in a word.
const STORE: u64 = 1 << 3;

pub(crate) struct BlockTaker<'a> {
    block: &'a mut Block,
    pages: bool,
    pub(crate) references: usize,
    /// Whether the last run may continue.
    is_open: bool,
}

const NO_RUN: PageRun = PageRun { page: 0, count: 0, fetch: false, written: false };

impl<'a> BlockTaker<'a> {
    /// Begins a block after `first` references; with `pages` without single ones.
    pub(crate) fn new(block: &'a mut Block, first: u64, pages: bool) -> Self {
        block.first = first;
        block.runs.clear();
        block.references.clear();
        block.events.clear();
        Self { block, pages, references: 0, is_open: false }
    }

    /// Appends runs; one of the same page and kind continues the last.
    #[inline(always)]
    fn add(&mut self, more: impl ExactSizeIterator<Item = PageRun>) {
        let runs = &mut self.block.runs;
        let mut open = runs.last().copied().filter(|_| self.is_open).unwrap_or(NO_RUN);
        let mut count = runs.len();
        runs.resize(count + more.len(), NO_RUN);
        for run in more {
            // Branch-free: page changes are unpredictable.
            let is_other = (run.page != open.page) | (run.fetch != open.fetch) | (open.count == 0);
            let goes_on = u32::from(is_other).wrapping_sub(1);
            count += usize::from(is_other);
            open = PageRun {
                count: (open.count & goes_on) + run.count,
                written: run.written | (open.written & !is_other),
                ..run
            };
            // The first run has none before it.
            if let Some(place) = runs.get_mut(count.wrapping_sub(1)) {
                *place = open;
            }
        }
        runs.truncate(count);
        self.is_open = true;
    }
}

impl Taker for BlockTaker<'_> {
    fn begin(&mut self, process: u32, thread: u32) {
        self.block.process = process;
        self.block.thread = thread;
    }

    #[inline]
    fn references(&mut self, words: ReferenceWords<'_>) {
        if !self.pages {
            self.block.references.extend(words.iter());
        }
        let words = words.words().iter().copied();
        self.references += words.len();
        self.add(words.map(|word| PageRun {
            page: (word.cast_signed() >> (ADDRESS_SHIFT + PAGE_SHIFT)).cast_unsigned(),
            count: 1,
            fetch: word & wire::NO_ACCESS == wire::FETCH,
            written: word & STORE != 0,
        }));
    }

    fn fetches(&mut self, address: u64, count: u32) {
        let page = (address.cast_signed() >> PAGE_SHIFT).cast_unsigned();
        self.references += count as usize;
        let run = PageRun { page, count, fetch: true, written: false };
        if count > 0 {
            self.add([run].into_iter());
        }
    }

    fn event(&mut self, event: Event) {
        self.is_open = false;
        self.block.events.push((self.block.runs.len() as u32, event));
    }

    fn is_full(&self) -> bool {
        self.references >= MOST_REFERENCES || self.block.events.len() >= MOST_EVENTS
    }
}

/// Packs a range of the references, and the events before it too.
pub(crate) struct EncoderTaker {
    encoder: Encoder,
    range: Range<u64>,
    /// References so far, inside the range or not.
    seen: u64,
    is_full: bool,
}

impl EncoderTaker {
    pub(crate) fn new(pages: bool, range: Range<u64>) -> Self {
        let columns = if pages { Granularity::Page } else { Granularity::Reference };
        Self { encoder: Encoder::new(columns), range, seen: 0, is_full: false }
    }

    pub(crate) fn finish_into(&mut self, block: &mut PackedBlock) {
        self.encoder.finish_into(block);
        self.is_full = false;
    }

    /// Counts references; returns which of them are in the range.
    #[inline]
    fn wanted(&mut self, count: u64) -> Range<u64> {
        let inside = |edge: u64| edge.saturating_sub(self.seen).min(count);
        let wanted = inside(self.range.start)..inside(self.range.end);
        self.seen += count;
        wanted
    }

    /// Whether the range is complete.
    pub(crate) fn is_done(&self) -> bool {
        self.seen >= self.range.end
    }
}

impl Taker for EncoderTaker {
    fn begin(&mut self, process: u32, thread: u32) {
        // The caller has finished the previous block.
        self.encoder.set_thread(process, thread);
    }

    #[inline]
    fn references(&mut self, words: ReferenceWords<'_>) {
        let wanted = self.wanted(words.words().len() as u64);
        let (begin, end) = (wanted.start as usize, wanted.end as usize);
        self.is_full |= self.encoder.push_all(words.part(begin..end.max(begin)).iter());
    }

    fn fetches(&mut self, address: u64, count: u32) {
        let page = (address.cast_signed() >> PAGE_SHIFT).cast_unsigned();
        let wanted = self.wanted(count.into());
        if !wanted.is_empty() {
            let count = (wanted.end - wanted.start) as u32;
            let run = PageRun { page, count, fetch: true, written: false };
            self.is_full |= self.encoder.push_run(run);
        }
    }

    fn event(&mut self, event: Event) {
        if !self.is_done() {
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
    use trace::{Access, Reference};

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
        let words = references.map(Reference::bits);
        taker.references(ReferenceWords::new(&words[..1]).unwrap());
        taker.references(ReferenceWords::new(&words[1..]).unwrap());
        taker.event(Event::ThreadEnd);
        taker.fetches(0x1000, 5);
        assert_eq!(taker.references, 9);
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
            let words = [page << (PAGE_SHIFT + ADDRESS_SHIFT)];
            taker.references(ReferenceWords::new(&words).unwrap());
        }
        assert!(!taker.is_full());
        taker.fetches(0x9000, 10);
        taker.event(Event::ThreadEnd);
        assert!(taker.is_full());
        let mut block = PackedBlock::default();
        taker.finish_into(&mut block);
        let head = block.head;
        let counts = (head.process, head.thread, head.references, head.runs, head.events);
        assert_eq!(counts, (4, 5, 5, 3, 1));
        assert_eq!(taker.seen, 15);
    }
}
