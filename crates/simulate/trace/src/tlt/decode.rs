//! Columns of bytes back to runs and references.

use postcard::take_from_bytes;

use super::table::{EMPTY, FETCH, OFFSET, PAGE_AT, RECENT, WRITTEN};
use crate::{Block, BlockHead, Event, PageRun, Reference};

pub(crate) type Fault = &'static str;

const BAD_PAGES: Fault = "the pages column is malformed";
const BAD_RUNS: Fault = "the block has another number of runs than its head says";

/// Decodes runs, and references if given. An event's number of references becomes that of runs.
pub(crate) fn decode(
    head: &BlockHead,
    pages: &[u8],
    rest: Option<&[u8]>,
    block: &mut Block,
) -> Result<(), Fault> {
    let Block { runs, references, events, .. } = block;
    let count = head.references as usize;
    let (entries, more) = pages.split_at_checked(count).ok_or(BAD_PAGES)?;
    if entries.iter().any(|entry| entry & (FETCH | WRITTEN) == FETCH | WRITTEN) {
        return Err("an instruction fetch is marked as a write");
    }
    runs.clear();
    // One more, as decoding writes past the last run.
    runs.resize(head.runs as usize + 1, NO_RUN);
    references.clear();
    let mut decoder = Decoder { table: EMPTY, more, runs, count: 0, open: NO_RUN, entry: NO_ENTRY };
    match rest {
        None => decoder.decode(entries, events, |decoder, range| decoder.pages(&entries[range])),
        Some(rest) if rest.len() != 2 * count => Err("the references column has another length"),
        Some(rest) => {
            if rest.chunks_exact(2).any(|rest| rest[0] & 7 == 7 || rest[1] & 0x80 != 0) {
                return Err("a reference has 128 bytes, or an invalid offset");
            }
            references.resize(count, Reference(0));
            decoder.decode(entries, events, |decoder, range| {
                let rest = &rest[2 * range.start..2 * range.end];
                decoder.all(&entries[range.clone()], rest, &mut references[range])
            })
        }
    }?;
    runs.pop();
    Ok(())
}

const NO_RUN: PageRun = PageRun { page: 0, count: 0, fetch: false, written: false };
const NO_ENTRY: u8 = 0xff;

struct Decoder<'a> {
    table: [u64; RECENT],
    /// The undecoded new pages.
    more: &'a [u8],
    runs: &'a mut [PageRun],
    /// Runs so far, including the open one.
    count: usize,
    open: PageRun,
    /// The open run's entry.
    entry: u8,
}

impl Decoder<'_> {
    /// Calls `each` for the references between new pages and events.
    fn decode(
        &mut self,
        entries: &[u8],
        events: &mut [(u32, Event)],
        mut each: impl FnMut(&mut Self, std::ops::Range<usize>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut events = events.iter_mut().peekable();
        let mut new_page = self.next_new_page(0)?;
        let mut at = 0;
        loop {
            while let Some((before, _)) = events.next_if(|(before, _)| *before as usize <= at) {
                *before = self.count as u32;
                self.entry = NO_ENTRY;
            }
            if new_page == Some(at) {
                self.enter_page(*entries.get(at).ok_or(BAD_PAGES)?)?;
                new_page = self.next_new_page(at)?;
                if new_page == Some(at) {
                    return Err(BAD_PAGES);
                }
            }
            if at >= entries.len() {
                break;
            }
            let event = events.peek().map(|(before, _)| *before as usize);
            let end = [event, new_page].into_iter().flatten().fold(entries.len(), usize::min);
            each(self, at..end)?;
            at = end;
        }
        let is_all = events.next().is_none() && new_page.is_none() && self.more.is_empty();
        if !is_all {
            return Err(BAD_PAGES);
        }
        if self.count + 1 == self.runs.len() { Ok(()) } else { Err(BAD_RUNS) }
    }

    /// The reference of the next new page; `last` is that of the one before.
    fn next_new_page(&mut self, last: usize) -> Result<Option<usize>, Fault> {
        if self.more.is_empty() {
            return Ok(None);
        }
        let (further, more) = take_from_bytes::<usize>(self.more).map_err(|_| BAD_PAGES)?;
        self.more = more;
        last.checked_add(further).map(Some).ok_or(BAD_PAGES)
    }

    /// Puts the next new page into an entry.
    fn enter_page(&mut self, entry: u8) -> Result<(), Fault> {
        let ((base, distance), more) =
            take_from_bytes::<(u8, i64)>(self.more).map_err(|_| BAD_PAGES)?;
        self.more = more;
        let from = *self.table.get(usize::from(base)).ok_or(BAD_PAGES)?;
        let page = (from >> PAGE_AT).wrapping_add_signed(distance);
        self.table[usize::from(entry & !WRITTEN)] = page << PAGE_AT | from & OFFSET;
        self.entry = NO_ENTRY;
        Ok(())
    }

    /// Continues with references whose pages are in the table.
    #[inline(always)]
    fn pages(&mut self, entries: &[u8]) -> Result<(), Fault> {
        let (mut open, mut open_entry, mut count) = (self.open, self.entry, self.count);
        for entry in entries {
            let entry_now = entry & !WRITTEN;
            // Arithmetic instead of unpredictable branches.
            let is_other = entry_now != open_entry;
            let goes_on = u32::from(is_other).wrapping_sub(1);
            open_entry = entry_now;
            count += usize::from(is_other);
            open = PageRun {
                page: page_of(self.table[usize::from(entry_now)]),
                count: (open.count & goes_on) + 1,
                fetch: entry & FETCH != 0,
                written: (entry & WRITTEN != 0) | (open.written & !is_other),
            };
            // The first run comes after an uncounted one.
            *self.runs.get_mut(count.wrapping_sub(1)).ok_or(BAD_RUNS)? = open;
        }
        (self.open, self.entry, self.count) = (open, open_entry, count);
        Ok(())
    }

    /// With single references.
    fn all(&mut self, entries: &[u8], rest: &[u8], out: &mut [Reference]) -> Result<(), Fault> {
        self.pages(entries)?;
        for ((entry, rest), reference) in entries.iter().zip(rest.chunks_exact(2)).zip(out) {
            let rest = u64::from(u16::from_le_bytes([rest[0], rest[1]]));
            let word = &mut self.table[usize::from(entry & !WRITTEN)];
            *word = *word & !OFFSET | word.wrapping_add((rest & !7) << 2) & OFFSET;
            let access = u64::from(entry & WRITTEN) >> 4 | u64::from(entry & FETCH) >> 2;
            *reference = Reference(*word | access | rest & 7);
        }
        Ok(())
    }
}

fn page_of(word: u64) -> u64 {
    (word.cast_signed() >> PAGE_AT).cast_unsigned()
}
