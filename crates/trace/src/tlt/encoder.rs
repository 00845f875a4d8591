//! References to columns of bytes, one by one, while a program runs.
//!
//! A page that was used lately is named by its place in a table of such pages, which encoder and
//! decoder keep in step, so a loop over some pages is the same bytes again and again whatever the
//! pages are, and those compress.
//!
//! What is done for each reference has one branch, on a page that is not in the table: whether the
//! page is another than before is as hard to foresee as the program itself, so a run is begun by
//! adding 0 or 1 to the number of runs. What runs are in the column is made when the block is
//! finished.

use super::events::put_event;
use super::limits::{MOST_EVENTS, RECENT, REFERENCES_PER_BLOCK};
use super::packed::PackedBlock;
use super::table::{Table, place_of};
use super::varint;
use crate::{Access, Columns, Event, PAGE_SHIFT, PageRun, Reference};

/// The count of a run, in its second byte, that says that more of it follows.
pub(crate) const LONG: u8 = 127;
/// In the second byte of a run: its page is new.
pub(crate) const NEW: u8 = 0x80;
/// In the first byte of a run: one of its references writes.
pub(crate) const WRITTEN: u8 = 0x80;
/// In the first byte of a run: its references fetch, and so does their half of the table.
pub(crate) const FETCH: u8 = 0x40;
/// Bits of an offset within a page.
pub(crate) const OFFSET_MASK: u32 = (1 << PAGE_SHIFT) - 1;
/// No place is this.
const NO_PLACE: usize = 0xff;
/// How many references may come after the one that made the block full.
const MORE: usize = 4096;
/// How many references, and so runs, there is room for; the first place is not used.
const ROOM: usize = REFERENCES_PER_BLOCK as usize + MORE + 1;

/// Packs the references of one thread.
#[derive(Clone, Debug)]
pub struct Encoder {
    process: u32,
    thread: u32,
    columns: Columns,
    now: Now,
    table: Table,
    /// The first byte of each run, from 1.
    codes: Box<[u8]>,
    /// References until the end of each run, from 1.
    ends: Box<[u32]>,
    /// The 16 bits of each reference, from 1; empty if they are not kept.
    rest: Box<[u16]>,
    event_bytes: Vec<u8>,
    events: u32,
    /// Runs before the last event.
    event_run: usize,
}

/// What changes with each reference.
#[derive(Clone, Copy, Debug)]
struct Now {
    /// The place of the open run's page in the table.
    place: usize,
    /// The first byte of the open run.
    code: usize,
    /// Runs so far, with the open one.
    runs: usize,
    /// References so far.
    count: usize,
}

/// A block in which nothing is yet.
const BEGIN: Now = Now { place: NO_PLACE, code: 0, runs: 0, count: 0 };

impl Encoder {
    /// An encoder for a thread. With [`Columns::Pages`] it keeps no single references.
    #[must_use]
    pub fn new(process: u32, thread: u32, columns: Columns) -> Self {
        let references = if columns == Columns::References { ROOM } else { 0 };
        Self {
            process,
            thread,
            columns,
            now: BEGIN,
            table: Table::new(),
            codes: vec![0; ROOM].into(),
            ends: vec![0; ROOM].into(),
            rest: vec![0; references].into(),
            event_bytes: Vec::new(),
            events: 0,
            event_run: 0,
        }
    }

    /// Goes on with another thread.
    ///
    /// # Panics
    /// When there is something of the one before that was not finished.
    pub fn set_thread(&mut self, process: u32, thread: u32) {
        assert!(self.is_empty(), "a block is of one thread");
        (self.process, self.thread) = (process, thread);
    }

    /// Adds a reference of `2^size_log2` bytes at an address. `true` when the block is full and
    /// is to be finished. Where there are several at hand, [`Self::push_all`] is quicker.
    ///
    /// # Panics
    /// When the block was full 4096 references ago.
    #[inline]
    #[must_use = "a full block is to be finished"]
    pub fn push(&mut self, address: u64, access: Access, size_log2: u8) -> bool {
        self.push_reference(Reference::new(address, access, size_log2))
    }

    /// Adds a reference; as [`Self::push`].
    #[inline]
    #[must_use = "a full block is to be finished"]
    pub fn push_reference(&mut self, reference: Reference) -> bool {
        assert_eq!(self.push_all(&[reference]), 1, "a full block is to be finished");
        self.is_full()
    }

    /// Adds references until the block is full; how many of them. What was full before takes some
    /// more, up to 4096.
    #[inline]
    pub fn push_all(&mut self, references: &[Reference]) -> usize {
        let most = if self.is_full() { ROOM - 1 } else { REFERENCES_PER_BLOCK as usize };
        let taken = references.len().min(most - self.now.count);
        let mut now = self.now;
        let keeps = self.columns == Columns::References;
        for reference in &references[..taken] {
            let bits = reference.bits();
            let page = (bits.cast_signed() >> (5 + PAGE_SHIFT)).cast_unsigned();
            let (fetch, store) = ((bits >> 4 & 1) as usize, (bits >> 3 & 1) as usize);
            now.count += 1;
            let place = self.add(&mut now, page, fetch, store);
            if keeps {
                let offset = (bits >> 5) as u32 & OFFSET_MASK;
                let delta = offset.wrapping_sub(self.table.offsets[place]);
                self.table.offsets[place] = offset;
                let size = (bits as u32 & 7).min(u32::from(crate::MAX_SIZE_LOG2));
                // What is above the 12 bits of the difference is cut off.
                self.rest[now.count] = (delta << 4 | (store as u32) << 3 | size) as u16;
            }
        }
        self.now = now;
        taken
    }

    /// Adds a run of at least one and at most 2^20 references to one page to an encoder that keeps
    /// no single ones; as [`Self::push`].
    ///
    /// # Panics
    /// When the encoder keeps single references, which a run does not tell, or the block was full
    /// 4096 runs ago.
    #[inline]
    #[must_use = "a full block is to be finished"]
    pub fn push_run(&mut self, run: PageRun) -> bool {
        assert!(self.columns == Columns::Pages, "a run has no single references");
        // Pages have 47 bits, sign-extended.
        let page = ((run.page << 17).cast_signed() >> 17).cast_unsigned();
        let mut now = self.now;
        now.count += run.count as usize;
        self.add(&mut now, page, usize::from(run.fetch), usize::from(run.written));
        self.now = now;
        self.is_full()
    }

    /// Adds an event, behind all references so far and before those to come. `true` when the
    /// block is full and is to be finished.
    #[must_use = "a full block is to be finished"]
    pub fn event(&mut self, event: &Event) -> bool {
        put_event(&mut self.event_bytes, (self.now.runs - self.event_run) as u32, event);
        self.event_run = self.now.runs;
        self.now.place = NO_PLACE;
        self.events += 1;
        self.events >= MOST_EVENTS / 2 || self.event_bytes.len() > 1 << 20
    }

    /// Whether the block has as many references as it should.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.now.count >= REFERENCES_PER_BLOCK as usize
    }

    /// Whether nothing was added since the last block was finished.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.now.count == 0 && self.events == 0
    }

    /// Takes what was added since the last block.
    #[must_use]
    pub fn finish_block(&mut self) -> PackedBlock {
        let mut block = PackedBlock::default();
        self.finish_into(&mut block);
        block
    }

    /// The same into a block whose memory can be used again.
    pub fn finish_into(&mut self, block: &mut PackedBlock) {
        block.process = self.process;
        block.thread = self.thread;
        block.at_ns = None;
        block.references = self.now.count as u32;
        block.runs = self.now.runs as u32;
        block.events = self.events;
        self.make_pages_column(&mut block.pages_column);
        block.references_column.clear();
        if self.columns == Columns::References {
            let rest = &self.rest[1..=self.now.count];
            block.references_column.extend(rest.iter().map(|rest| (rest >> 8) as u8));
            block.references_column.extend(rest.iter().map(|rest| *rest as u8));
        }
        block.events_column.clear();
        block.events_column.extend(&self.event_bytes);
        self.event_bytes.clear();
        (self.now, self.events, self.event_run) = (BEGIN, 0, 0);
        self.table.clear();
    }

    /// Adds references to a page, which are counted already; the place of the page.
    #[inline(always)]
    fn add(&mut self, now: &mut Now, page: u64, fetch: usize, store: usize) -> usize {
        let half = fetch * usize::from(FETCH);
        let place = (half | place_of(page)) % RECENT;
        if self.table.recent[place] != page {
            self.table.add(page, place, now.runs + 1);
            // Also if the page that was there is that of the open run.
            now.place = NO_PLACE;
        }
        let is_other = place != now.place;
        now.place = place;
        now.runs += usize::from(is_other);
        // All bits if the run goes on; a condition would become a branch.
        let goes_on = usize::from(is_other).wrapping_sub(1);
        let written = store * usize::from(WRITTEN);
        now.code = place | now.code & goes_on | written;
        self.codes[now.runs] = now.code as u8;
        self.ends[now.runs] = now.count as u32;
        place
    }

    fn make_pages_column(&self, column: &mut Vec<u8>) {
        column.clear();
        column.extend(&self.codes[1..=self.now.runs]);
        column.resize(2 * self.now.runs, 0);
        let counts = self.ends[1..=self.now.runs].iter().zip(&self.ends[..self.now.runs]);
        // The first place of the ends is 0.
        for (code, (end, begin)) in column[self.now.runs..].iter_mut().zip(counts) {
            *code = (end - begin - 1).min(u32::from(LONG)) as u8;
        }
        let runs = self.now.runs;
        let mut new = self.table.new.iter().peekable();
        let long = |column: &[u8], from: usize| {
            memchr::memchr(LONG, &column[runs + from..2 * runs]).map(|further| from + further)
        };
        let mut next_long = long(column, 0);
        // The next run of which there is more to tell, counted from 0.
        while let Some(run) = new.peek().map(|page| page.run - 1).into_iter().chain(next_long).min()
        {
            if let Some(page) = new.next_if(|page| page.run - 1 == run) {
                column[runs + run] |= NEW;
                column.push(page.base);
                varint::put_signed(column, page.delta);
            }
            if next_long == Some(run) {
                let beyond_first = self.ends[run + 1] - self.ends[run] - 1;
                varint::put(column, u64::from(beyond_first - u32::from(LONG)));
                next_long = long(column, run + 1);
            }
        }
    }
}
