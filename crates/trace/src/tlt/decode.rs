//! Columns of bytes back to runs and references.

use super::encoder::{FETCH, LONG, NEW, OFFSET_MASK, WRITTEN};
use super::limits::RECENT;
use super::varint::{take, take_byte, take_signed};
use crate::{PageRun, Reference};

/// What is wrong with a column.
pub(crate) type Fault = &'static str;

const BAD_PAGES: Fault = "the pages column is no such column";
const BAD_COUNT: Fault = "the runs of the pages column are not the references of the block";

/// The columns of a block, not compressed any more.
pub(crate) struct Unpacked<'a> {
    pub(crate) references: u32,
    pub(crate) runs: u32,
    pub(crate) pages: &'a [u8],
}

/// Puts the runs of a pages column behind each other.
pub(crate) fn decode_pages(columns: &Unpacked<'_>, runs: &mut Vec<PageRun>) -> Result<(), Fault> {
    decode(columns, runs, |_, _, _| Ok(()))
}

/// The same, with the references: two planes of bytes, one behind the other.
pub(crate) fn decode_all(
    columns: &Unpacked<'_>,
    planes: &[u8],
    runs: &mut Vec<PageRun>,
    references: &mut Vec<Reference>,
) -> Result<(), Fault> {
    let (high, low) = planes
        .split_at_checked(columns.references as usize)
        .filter(|(high, low)| high.len() == low.len())
        .ok_or("the references column has another length")?;
    if low.iter().any(|byte| byte & 7 == 7) {
        return Err("a reference is of 128 bytes");
    }
    references.clear();
    references.resize(columns.references as usize, Reference::in_page(0, 0));
    let mut offsets = [0_u32; RECENT];
    let mut done = 0;
    decode(columns, runs, |run, place, base| {
        let next = done + run.count as usize;
        let (Some(high), Some(low), Some(out)) =
            (high.get(done..next), low.get(done..next), references.get_mut(done..next))
        else {
            return Err(BAD_COUNT);
        };
        done = next;
        let mut offset = offsets[base];
        // A fetch has no store bit.
        let (kind, stored) = if run.fetch { (2 << 3, 0) } else { (0, 1 << 3) };
        for ((reference, high), low) in out.iter_mut().zip(high).zip(low) {
            let low = u32::from(*low);
            offset = offset.wrapping_add(u32::from(*high) << 4 | low >> 4) & OFFSET_MASK;
            *reference = Reference::in_page(run.page, offset << 5 | kind | low & (stored | 7));
        }
        offsets[place] = offset;
        Ok(())
    })
}

/// Decodes runs and gives each to `each`, with its place in the table and the place whose offset
/// it goes on from.
#[inline(always)]
fn decode(
    columns: &Unpacked<'_>,
    runs: &mut Vec<PageRun>,
    mut each: impl FnMut(&PageRun, usize, usize) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let length = columns.runs as usize;
    let (places, rest) = columns.pages.split_at_checked(length).ok_or(BAD_PAGES)?;
    let (counts, mut more) = rest.split_at_checked(length).ok_or(BAD_PAGES)?;
    let mut recent = [0_u64; RECENT];
    let mut total = 0_u64;
    runs.clear();
    runs.reserve(length);
    for (first, second) in places.iter().zip(counts) {
        let place = usize::from(first & !WRITTEN);
        let mut base = place;
        let mut count = u32::from(second & !NEW) + 1;
        if *second >= LONG {
            base = rare(*second, place, &mut recent, &mut count, &mut more).ok_or(BAD_PAGES)?;
        }
        let run = PageRun {
            page: recent[place],
            count,
            fetch: first & FETCH != 0,
            written: first & WRITTEN != 0,
        };
        total += u64::from(count);
        each(&run, place, base)?;
        runs.push(run);
    }
    match (total == u64::from(columns.references), more.is_empty()) {
        (true, true) => Ok(()),
        (false, _) => Err(BAD_COUNT),
        (true, false) => Err(BAD_PAGES),
    }
}

/// A run whose page is new or that is long; the place that its offset goes on from.
#[cold]
#[inline(never)]
fn rare(
    second: u8,
    place: usize,
    recent: &mut [u64; RECENT],
    count: &mut u32,
    more: &mut &[u8],
) -> Option<usize> {
    let mut base = place;
    if second & NEW != 0 {
        base = usize::from(take_byte(more)?);
        let from = recent.get(base)?;
        let page = from.wrapping_add(take_signed(more)?.cast_unsigned());
        // Pages have 47 bits, sign-extended.
        recent[place] = ((page << 17).cast_signed() >> 17).cast_unsigned();
    }
    if second & !NEW == LONG {
        *count = u32::try_from(take(more)?).ok()?.checked_add(u32::from(LONG) + 1)?;
    }
    Some(base)
}
