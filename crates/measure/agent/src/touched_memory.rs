//! Preparing the memory of `touch`: all pages are present before the first counted touch.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

use jobs::{Backing, Chain, Layout, PAGE_BYTES, Pages, Pattern, TouchPlan};
use rustix::fs::{Advice as FileAdvice, fadvise};
use sys::memory::{Advice, Mapping};
use sys::sysv::SharedSegment;

use crate::memory_counters::Side;
use crate::page_policy::huge_bytes;

const PAGES_AT_ONCE: u64 = 256;

pub(crate) fn private(
    side: &Side<'_>,
    plan: &TouchPlan,
    layout: &Layout,
    row: u64,
) -> io::Result<Mapping> {
    let mapping = anonymous(plan, layout, false).map_err(|error| explained(&error, layout))?;
    fill(side, plan, layout, &mapping, row);
    Ok(mapping)
}

pub(crate) fn shared(side: &Side<'_>, plan: &TouchPlan, layout: &Layout) -> io::Result<Mapping> {
    if plan.backing == Backing::File {
        return file(side, plan, layout);
    }
    let mapping = match plan.backing {
        Backing::Shm => segment(side.assignment.queue_key, plan, layout),
        _ => anonymous(plan, layout, true),
    };
    let mapping = mapping.map_err(|error| explained(&error, layout))?;
    fill(side, plan, layout, &mapping, 0);
    Ok(mapping)
}

fn explained(error: &io::Error, layout: &Layout) -> io::Error {
    let size = model::units::format_size(layout.size_bytes());
    io::Error::other(format!("map {size} for the footprint: {error}"))
}

fn anonymous(plan: &TouchPlan, layout: &Layout, shared: bool) -> io::Result<Mapping> {
    let size_bytes = size_bytes(plan, layout)?;
    let huge = plan.pages == Pages::Hugetlb;
    with_policy(plan, Mapping::unreserved(size_bytes, shared, huge)?)
}

/// A segment that is removed as soon as it is attached.
fn segment(key: i32, plan: &TouchPlan, layout: &Layout) -> io::Result<Mapping> {
    // The creator of the work directory has the key in its journal.
    let huge = plan.pages == Pages::Hugetlb;
    let segment = SharedSegment::create(key, size_bytes(plan, layout)?, huge)?;
    let mapping = segment.attach();
    segment.remove()?;
    with_policy(plan, mapping?)
}

fn with_policy(plan: &TouchPlan, mapping: Mapping) -> io::Result<Mapping> {
    match plan.pages {
        Pages::Thp => mapping.advise(Advice::Huge)?,
        Pages::Hugetlb => {}
        // Huge pages would fill the gaps of a sparse layout.
        Pages::Default if plan.spread_bytes <= PAGE_BYTES => {}
        // A kernel without huge pages refuses the advice.
        Pages::Default | Pages::Small => {
            let _ = mapping.advise(Advice::Small);
        }
    }
    Ok(mapping)
}

/// Touches each page once, or writes the chain of pointers.
fn fill(side: &Side<'_>, plan: &TouchPlan, layout: &Layout, mapping: &Mapping, row: u64) {
    if plan.pattern == Pattern::Chase {
        let chain = Chain::new(layout.places(), side.assignment.spec.seed, chain_of(plan, row));
        for place in 0..layout.places() {
            mapping.set_pointer(layout.offset(place), layout.offset(chain.after(place)));
        }
    } else if plan.step_bytes > PAGE_BYTES {
        mapping.write_each((0..layout.places()).map(|place| layout.offset(place)), 1);
    } else {
        mapping.write_each((0..layout.pages()).map(|page| layout.page_offset(page) as usize), 1);
    }
}

/// Maps a file after it was written to the disk and evicted.
fn file(side: &Side<'_>, plan: &TouchPlan, layout: &Layout) -> io::Result<Mapping> {
    let path = side.assignment.work_dir.join("touched.dat");
    let at = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).open(&path).map_err(at)?;
    let chain = Chain::new(layout.places(), side.assignment.spec.seed, 0);
    write_file(&file, plan, layout, &chain).map_err(at)?;
    file.sync_all().map_err(at)?;
    fadvise(&file, 0, None, FileAdvice::DontNeed).map_err(|error| at(error.into()))?;
    let mapping = Mapping::file_shared(&file, addressable(layout.size_bytes())?).map_err(at)?;
    if plan.is_random() {
        mapping.advise(Advice::Random)?;
    }
    Ok(mapping)
}

fn write_file(file: &File, plan: &TouchPlan, layout: &Layout, chain: &Chain) -> io::Result<()> {
    file.set_len(layout.size_bytes())?;
    let at_once = if plan.spread_bytes > PAGE_BYTES { 1 } else { PAGES_AT_ONCE };
    let mut bytes = Vec::new();
    for first in (0..layout.pages()).step_by(at_once as usize) {
        let end = (first + at_once).min(layout.pages());
        bytes.clear();
        // Some file systems do not store zeros.
        bytes.resize(((end - first) * PAGE_BYTES) as usize, 1);
        if plan.pattern == Pattern::Chase {
            let step = plan.step_bytes;
            let places = (first * PAGE_BYTES).div_ceil(step)..(end * PAGE_BYTES).div_ceil(step);
            for place in places.start..places.end.min(layout.places()) {
                let at = (place * step - first * PAGE_BYTES) as usize;
                let pointer = layout.offset(chain.after(place)).to_ne_bytes();
                bytes[at..at + pointer.len()].copy_from_slice(&pointer);
            }
        }
        file.write_all_at(&bytes, layout.page_offset(first))?;
    }
    Ok(())
}

fn addressable(size_bytes: u64) -> io::Result<usize> {
    usize::try_from(size_bytes)
        .map_err(|_| io::Error::other("footprint x spread is more than can be addressed"))
}

fn size_bytes(plan: &TouchPlan, layout: &Layout) -> io::Result<usize> {
    let size_bytes = addressable(layout.size_bytes())?;
    if plan.pages != Pages::Hugetlb {
        return Ok(size_bytes);
    }
    let huge_bytes = huge_bytes().ok_or_else(|| io::Error::other("no huge pages here"))? as usize;
    Ok(size_bytes.next_multiple_of(huge_bytes.max(1)))
}

/// The number of a process's chain: its own in private memory.
pub(crate) fn chain_of(plan: &TouchPlan, row: u64) -> u64 {
    if plan.backing == Backing::Private { row } else { 0 }
}
