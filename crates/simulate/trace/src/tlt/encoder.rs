//! Encodes references into columns, in bulk while a program runs.
//!
//! Recent pages are named by their place in a table that encoder and decoder keep in step, so a
//! loop over some pages compresses well, whatever the pages.
//!
//! The only branch per reference is for pages not in the table. Page changes are unpredictable, so
//! runs are left to the reader.

use super::events::put_event;
use super::head::{BlockHead, MOST_EVENTS, PackedBlock, REFERENCES_PER_BLOCK};
use super::table::{ADDRESS, EMPTY, FETCH, NewPages, PAGE_AT, RECENT, WRITTEN, entry_of};
use crate::{Access, Event, Granularity, PAGE_SHIFT, PageRun, Reference};

/// Packs the references of one thread.
#[derive(Clone, Debug)]
pub struct Encoder {
    columns: Granularity,
    /// The block so far. Pages: a byte per reference (entry, write flag), then new pages.
    /// References: two bytes (difference of offsets in the entry, size), or nothing.
    block: PackedBlock,
    table: Box<[u64; RECENT]>,
    new_pages: NewPages,
    /// References before the last event.
    event_at: usize,
    /// References before which an event or a new page ends the run.
    breaks: Vec<usize>,
}

impl Encoder {
    /// An encoder for the first thread. With [`Granularity::Page`] it keeps no single references.
    pub fn new(columns: Granularity) -> Self {
        Self {
            columns,
            block: PackedBlock::default(),
            table: Box::new(EMPTY),
            new_pages: NewPages::default(),
            event_at: 0,
            breaks: Vec::new(),
        }
    }

    /// Continues with another thread.
    ///
    /// # Panics
    /// When the last block was not finished.
    pub fn set_thread(&mut self, process: u32, thread: u32) {
        assert!(self.is_empty(), "a block is of one thread");
        (self.block.head.process, self.block.head.thread) = (process, thread);
    }

    /// Adds at most some thousand references, for the block's size; `true` when the block is full.
    #[inline]
    #[must_use = "a full block is to be finished"]
    pub fn push_all<I>(&mut self, references: I) -> bool
    where
        I: IntoIterator<Item = Reference, IntoIter: ExactSizeIterator>,
    {
        // The cost per reference is its instructions, not latency.
        let words = references.into_iter().map(Reference::bits);
        let PackedBlock { pages_column, references_column, .. } = &mut self.block;
        let begin = pages_column.len();
        let end = begin + words.len();
        pages_column.resize(end, 0);
        let entries = pages_column[begin..].iter_mut();
        let (table, new_pages, breaks) = (&mut self.table, &mut self.new_pages, &mut self.breaks);
        let mut enter = |at: usize, word: u64| {
            // Bit 4 marks fetches.
            let half = (word << 2) as usize & usize::from(FETCH);
            let entry = (entry_of(word) | half) % RECENT;
            if (table[entry] ^ word) >> PAGE_AT != 0 {
                new_pages.add(table, word, entry, begin + at);
                breaks.push(begin + at);
            }
            let further = word.wrapping_sub(table[entry]);
            table[entry] = word & ADDRESS;
            (entry as u8 | (word << 4) as u8 & WRITTEN, further)
        };
        if self.columns == Granularity::Page {
            for (at, (entry, word)) in entries.zip(words).enumerate() {
                *entry = enter(at, word).0;
            }
            return self.is_full();
        }
        references_column.resize(2 * end, 0);
        let rest = references_column[2 * begin..].chunks_exact_mut(2);
        for (at, ((entry, rest), word)) in entries.zip(rest).zip(words).enumerate() {
            let further;
            (*entry, further) = enter(at, word);
            // With the reference's access and size; the difference is cut to 12 bits.
            let further = further >> 2 & 0x7ff8 | further & 7;
            rest.copy_from_slice(&(further as u16).to_le_bytes());
        }
        self.is_full()
    }

    /// Adds a run of 1 to 2^20 references to an encoder of pages; `true` when the block is full.
    ///
    /// # Panics
    /// When the encoder keeps single references.
    #[inline]
    #[must_use = "a full block is to be finished"]
    pub fn push_run(&mut self, run: PageRun) -> bool {
        assert!(self.columns == Granularity::Page, "a page run does not contain single references");
        let access = match (run.fetch, run.written) {
            (true, _) => Access::Fetch,
            (false, true) => Access::Store,
            (false, false) => Access::Load,
        };
        // Pages are cut to the 47 bits of a reference.
        let is_full = self.push_all([Reference::new(run.page << PAGE_SHIFT, access, 0)]);
        let entries = &mut self.block.pages_column;
        if let Some(entry) = entries.last().copied() {
            entries.resize(entries.len() + run.count as usize - 1, entry);
        }
        is_full || self.is_full()
    }

    /// Adds an event after the references so far; `true` when the block is full.
    #[must_use = "a full block is to be finished"]
    pub fn event(&mut self, event: &Event) -> bool {
        let at = self.block.pages_column.len();
        put_event(&mut self.block.events_column, (at - self.event_at) as u32, event);
        self.event_at = at;
        self.breaks.push(at);
        self.block.head.events += 1;
        self.block.head.events >= MOST_EVENTS / 2 || self.block.events_column.len() > 1 << 20
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.block.pages_column.len() >= REFERENCES_PER_BLOCK as usize
    }

    /// Whether nothing was added since the last block was finished.
    pub fn is_empty(&self) -> bool {
        self.block.pages_column.is_empty() && self.block.head.events == 0
    }

    /// Takes what was added since the last block into a block whose memory can be used again.
    pub fn finish_into(&mut self, block: &mut PackedBlock) {
        self.block.head.references = self.block.pages_column.len() as u32;
        self.block.head.runs = self.runs();
        self.block.pages_column.extend(&self.new_pages.bytes);
        std::mem::swap(&mut self.block, block);
        let PackedBlock { head, pages_column, references_column, events_column } = &mut self.block;
        let BlockHead { process, thread, .. } = block.head;
        *head = BlockHead { process, thread, ..BlockHead::default() };
        for column in [pages_column, references_column, events_column] {
            column.clear();
        }
        self.breaks.clear();
        self.new_pages.clear();
        *self.table = EMPTY;
        self.event_at = 0;
    }

    fn runs(&mut self) -> u32 {
        let differ = |one: u8, other: u8| (one ^ other) & !WRITTEN != 0;
        let entries = &self.block.pages_column;
        let others = entries.get(1..).unwrap_or_default();
        // In byte-sized sums, for vectorization.
        let pieces = entries.chunks(255).zip(others.chunks(255));
        let changes = pieces.map(|(ones, others)| {
            let changes =
                ones.iter().zip(others).map(|(one, other)| u8::from(differ(*one, *other)));
            u32::from(changes.sum::<u8>())
        });
        let changes = changes.sum::<u32>();
        self.breaks.dedup();
        let hidden = self.breaks.iter().filter(|at| {
            (1..entries.len()).contains(*at) && !differ(entries[**at - 1], entries[**at])
        });
        u32::from(!entries.is_empty()) + changes + hidden.count() as u32
    }
}
