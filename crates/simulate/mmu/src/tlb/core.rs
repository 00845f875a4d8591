//! One core: its TLBs, address-space numbers and walker.
//!
//! A reference goes along a *route*: the TLBs that may hold a page of its size, from the first level
//! on, then the walker. Each level that misses holds the page from then on. Entries carry a *tag*, the
//! address space that they belong to; a switch to another process changes the running tag, or flushes,
//! where the machine has no address-space numbers or has run out of them.
//!
//! Most references hit the page of the one before. If such a hit changes nothing (the entry is the most
//! recent one already), it is only counted (`Core::last`), and a run of references to one page is a
//! single step. This is exact, not sampled: a naive model without these short cuts is compared with it
//! step by step in the tests.

use std::collections::HashSet;

use trace::PageRun;

use super::array::{Array, Lookup};
use super::machine::{Machine, Prefetch};
use super::options::Options;
use super::outcome::Outcome;
use super::page_size::{self, FIRST_SHARED_TAG, GLOBAL_TAG, NOTHING, PAGE_MASK, PageSize, SIZES};
use super::translations::Mapped;
use super::walker::{Walker, Wanted};
use super::world::World;

/// The lookup of a page of some size at one level.
#[derive(Clone, Copy, Debug)]
struct Stop {
    tlb: usize,
    /// The size of the TLB's entry.
    size: PageSize,
    lookup_cycles: u64,
}

/// The first lookup of pages of one size without sharing.
#[derive(Clone, Copy, Debug)]
struct Front {
    tlb: usize,
    /// The size of all pages, and the shift of the TLB's entries.
    size: PageSize,
    shift: u32,
    /// Tag and size in the entry.
    bits: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Core {
    /// The last page of data and of fetches, if another reference to it hits without a change.
    last: [u64; 2],
    last_size: [PageSize; 2],
    /// By fetch, if size and tag are the same for all pages.
    fronts: [Option<Front>; 2],
    /// Whether fetches and data share a TLB of the first level.
    unified: bool,
    /// By fetch and by size.
    references: [[u64; SIZES]; 2],
    tlbs: Vec<Array>,
    /// By fetch and by size, the TLBs from the first level on.
    routes: [[Vec<Stop>; SIZES]; 2],
    walker: Walker,
    prefetches: bool,
    /// Prefetched translations without a reference, by TLB.
    unused: HashSet<(usize, u64)>,
    /// The process that runs, and its tag.
    running: Option<u32>,
    tag: u64,
    /// The process of each address-space number and when it ran last, 0 if it has ended.
    asids: Vec<Option<(u32, u64)>>,
}

impl Front {
    #[inline]
    fn entry(&self, page: u64) -> u64 {
        (page & PAGE_MASK) >> self.shift | self.bits
    }
}

impl Core {
    /// `seed` returns a seed for each array.
    pub(crate) fn new(
        machine: &Machine,
        options: &Options,
        mut seed: impl FnMut() -> u64,
    ) -> Result<Self, String> {
        let mut tlbs = Vec::new();
        for tlb in &machine.tlbs {
            let mut shape = tlb.shape();
            shape.policy = options.policy.unwrap_or(shape.policy);
            if let Some(reason) = shape.policy.refuses(shape.ways) {
                return Err(format!("{}: {reason}", tlb.name));
            }
            tlbs.push(Array::new(shape, seed()));
        }
        let routes =
            [false, true].map(|fetch| PageSize::EACH.map(|size| route(machine, fetch, size)));
        let unified = (0..SIZES).any(|size| routes[0][size][0].tlb == routes[1][size][0].tlb);
        let asids = options.asids.unwrap_or(machine.asids);
        Ok(Self {
            last: [NOTHING; 2],
            last_size: [PageSize::Small; 2],
            fronts: [None; 2],
            unified,
            references: [[0; SIZES]; 2],
            tlbs,
            routes,
            walker: Walker::new(machine, options, seed),
            prefetches: options.prefetch.unwrap_or(machine.prefetch == Prefetch::NextPage),
            unused: HashSet::new(),
            running: None,
            tag: 0,
            asids: vec![None; asids as usize],
        })
    }

    /// Refers to a page `count` times in a row.
    #[inline]
    pub(crate) fn refer(&mut self, world: &mut World, page: u64, fetch: bool, count: u64) {
        let side = usize::from(fetch);
        let Some(front) = self.fronts[side] else {
            return self.refer_by_size(world, page & PAGE_MASK, side, count);
        };
        self.references[side][front.size as usize] += count;
        self.refer_by_front(world, &front, page, side);
    }

    /// Calls [`refer`](Core::refer) for each run.
    pub(crate) fn refer_to_runs(&mut self, world: &mut World, mut runs: &[PageRun]) {
        let fetches = runs.iter().any(|run| run.fetch);
        let (Some(front), false) = (self.fronts[0], fetches) else {
            for run in runs {
                self.refer(world, run.page, run.fetch, u64::from(run.count));
            }
            return;
        };
        let count: u64 = runs.iter().map(|run| u64::from(run.count)).sum();
        self.references[0][front.size as usize] += count;
        loop {
            let tlb = &mut self.tlbs[front.tlb];
            let pages = runs.iter().map(|run| run.page);
            // Most pages are small: without the shift this takes a third less time.
            let hits = match front.shift {
                0 => tlb.hits(pages.map(|page| page & PAGE_MASK | front.bits)),
                _ => tlb.hits(pages.map(|page| front.entry(page))),
            };
            let Some((run, behind)) = runs[hits..].split_first() else { return };
            self.refer_by_front(world, &front, run.page, 0);
            runs = behind;
        }
    }

    /// Refers to a page whose size and tag are known.
    #[inline]
    fn refer_by_front(&mut self, world: &mut World, front: &Front, page: u64, side: usize) {
        let found = self.tlbs[front.tlb].access(front.entry(page));
        if found != Lookup::Hit {
            let page = page & PAGE_MASK;
            let mapped = Mapped { size: world.guest_size(page), is_global: false };
            self.missed(world, page, mapped, side, found);
        }
    }

    /// Refers to a page whose size and tag must be looked up, unless it is the page before.
    fn refer_by_size(&mut self, world: &mut World, page: u64, side: usize, count: u64) {
        if self.refer_again(world, page, side, count) {
            return;
        }
        let mapped = Mapped { size: world.guest_size(page), is_global: false };
        self.refer_mapped(world, page, mapped, side, count);
    }

    /// Refers to the page of the reference before again; `false` if it is another page.
    #[inline]
    pub(crate) fn refer_again(
        &mut self,
        world: &mut World,
        page: u64,
        side: usize,
        count: u64,
    ) -> bool {
        if page != self.last[side] {
            return false;
        }
        let size = self.last_size[side] as usize;
        self.references[side][size] += count;
        world.price.references += count;
        world.price.cycles += self.routes[side][size][0].lookup_cycles * count;
        true
    }

    /// Refers to a page that is mapped like this.
    pub(crate) fn refer_mapped(
        &mut self,
        world: &mut World,
        page: u64,
        mapped: Mapped,
        side: usize,
        count: u64,
    ) {
        let size = world.in_tlb(mapped.size);
        self.last[side] = page;
        self.last_size[side] = size;
        if self.unified {
            self.last[1 - side] = NOTHING;
        }
        self.refer_again(world, page, side, count);
        let stop = self.routes[side][size as usize][0];
        let entry = self.entry(world, page, &stop, mapped.is_global);
        let found = self.tlbs[stop.tlb].access(entry);
        if found != Lookup::Hit {
            self.missed(world, page, mapped, side, found);
        }
    }

    /// The entry of a page in a TLB.
    #[inline]
    fn entry(&self, world: &World, page: u64, stop: &Stop, is_global: bool) -> u64 {
        let tag = if is_global { GLOBAL_TAG } else { world.tag(self.tag, page, stop.size) };
        page_size::entry(page, stop.size, tag)
    }

    /// Looks a page up beyond the first level, then walks.
    #[inline(never)]
    fn missed(&mut self, world: &mut World, page: u64, mapped: Mapped, side: usize, found: Lookup) {
        let size = world.in_tlb(mapped.size);
        world.price.misses += 1;
        self.note_miss(world, self.routes[side][size as usize][0].tlb, found);
        for level in 1..self.routes[side][size as usize].len() {
            let stop = self.routes[side][size as usize][level];
            let entry = self.entry(world, page, &stop, mapped.is_global);
            world.price.cycles += stop.lookup_cycles;
            world.outcome.tlbs[stop.tlb].accesses += 1;
            let found = self.tlbs[stop.tlb].access(entry);
            if found == Lookup::Hit {
                if self.prefetches && self.unused.remove(&(stop.tlb, entry)) {
                    world.outcome.prefetches_used += 1;
                }
                return;
            }
            self.note_miss(world, stop.tlb, found);
        }
        let before = world.outcome.walks;
        self.walk(world, page, mapped, false);
        let walks = &world.outcome.walks;
        world.price.walks += 1;
        world.price.steps += walks.all_steps() - before.all_steps();
        world.price.steps_from_memory += walks.steps_from_memory - before.steps_from_memory;
        world.price.cycles += walks.cycles - before.cycles;
        if self.prefetches {
            let next = page + (1 << size.shift());
            let mapped = world.mapped_next(next, mapped);
            self.prefetch(world, next, mapped, side);
        }
    }

    fn walk(&mut self, world: &mut World, page: u64, mapped: Mapped, prefetch: bool) {
        let (space, frames, share, outcome) = world.tables();
        let wanted = Wanted { page, mapped, tag: self.tag, space, share, prefetch };
        self.walker.walk(&wanted, frames, outcome);
    }

    /// Puts a translation into the last of several levels.
    fn prefetch(&mut self, world: &mut World, page: u64, mapped: Mapped, side: usize) {
        let size = world.in_tlb(mapped.size);
        let [_, .., stop] = self.routes[side][size as usize][..] else { return };
        let entry = self.entry(world, page, &stop, mapped.is_global);
        if self.tlbs[stop.tlb].has(entry) {
            return;
        }
        self.walk(world, page, mapped, true);
        let found = self.tlbs[stop.tlb].access(entry);
        self.note_fill(world, stop.tlb, found);
        self.unused.insert((stop.tlb, entry));
    }

    fn note_miss(&mut self, world: &mut World, tlb: usize, found: Lookup) {
        world.outcome.tlbs[tlb].misses += 1;
        self.note_fill(world, tlb, found);
    }

    fn note_fill(&mut self, world: &mut World, tlb: usize, found: Lookup) {
        world.outcome.tlbs[tlb].fills += 1;
        if let Lookup::Evicted(entry) = found {
            world.outcome.tlbs[tlb].evictions += 1;
            if self.prefetches {
                self.unused.remove(&(tlb, entry));
            }
        }
    }

    /// Runs a process; `now` grows with each switch.
    pub(crate) fn switch(&mut self, world: &mut World, process: u32, now: u64) {
        self.forget_last();
        self.give_tag(&mut world.outcome, process, now);
        let tag = self.tag;
        self.fronts = [false, true].map(|fetch| {
            let size = world.only_size()?;
            let stop = self.routes[usize::from(fetch)][size as usize][0];
            let bits = page_size::entry(0, stop.size, tag);
            Some(Front { tlb: stop.tlb, size, shift: stop.size.shift(), bits })
        });
    }

    /// Finds the tag of the process that runs now.
    fn give_tag(&mut self, outcome: &mut Outcome, process: u32, now: u64) {
        let before = self.running.replace(process);
        if before == Some(process) {
            return;
        }
        outcome.switches += u64::from(before.is_some());
        if self.asids.is_empty() {
            if before.is_some() {
                self.flush_tag(outcome, 0);
            }
            return;
        }
        // Free numbers first, then the longest unused one.
        let held = self.asid_of(process);
        let asid = held.or_else(|| {
            let when = |asid: &usize| self.asids[*asid].map(|(_, when)| when);
            (0..self.asids.len()).min_by_key(when)
        });
        let Some(asid) = asid else { return };
        self.tag = asid as u64;
        let taken = self.asids[asid].replace((process, now));
        if held.is_none()
            && let Some((_, used)) = taken
        {
            outcome.asids_taken += u64::from(used > 0);
            self.flush_tag(outcome, self.tag);
        }
    }

    /// Flushes an address space. The number of a `gone` process is the next to be reused,
    /// but not free: a thread's last references may follow the end of its process.
    pub(crate) fn flush_process(&mut self, outcome: &mut Outcome, process: u32, gone: bool) {
        let Some(tag) = self.tag_of(process) else { return };
        self.flush_tag(outcome, tag);
        if gone && let Some(asid) = self.asid_of(process) {
            self.asids[asid] = Some((process, 0));
        }
    }

    /// Flushes pages of an address space, with shared translations.
    pub(crate) fn flush_pages(
        &mut self,
        outcome: &mut Outcome,
        process: u32,
        first: u64,
        end: u64,
    ) {
        self.forget_last();
        let own = self.tag_of(process);
        outcome.page_flushes += u64::from(own.is_some());
        self.flush(outcome, |entry| {
            let (from, to) = page_size::pages(entry);
            let tag = page_size::tag(entry);
            from < end && to > first && (Some(tag) == own || tag >= FIRST_SHARED_TAG)
        });
        self.walker.forget(|tag| Some(tag) == own);
    }

    /// Flushes all address spaces, as a processor without address-space numbers does when its page
    /// tables change; global translations too or not. Caches of upper entries keep nothing.
    pub(crate) fn flush_spaces(&mut self, outcome: &mut Outcome, globals_too: bool) {
        self.forget_last();
        outcome.flushes += 1;
        self.flush(outcome, |entry| globals_too || page_size::tag(entry) != GLOBAL_TAG);
        self.walker.forget(|_| true);
    }

    /// Flushes a page, whatever its size, of all address spaces.
    pub(crate) fn flush_mapped(&mut self, outcome: &mut Outcome, page: u64) {
        self.forget_last();
        outcome.page_flushes += 1;
        self.flush(outcome, |entry| {
            let (first, end) = page_size::pages(entry);
            (first..end).contains(&page)
        });
        self.walker.forget(|_| true);
    }

    /// Forgets the last page, which may have changed.
    pub(crate) fn forget_last(&mut self) {
        self.last = [NOTHING; 2];
    }

    fn tag_of(&self, process: u32) -> Option<u64> {
        if self.asids.is_empty() {
            return (self.running == Some(process)).then_some(0);
        }
        self.asid_of(process).map(|asid| asid as u64)
    }

    fn asid_of(&self, process: u32) -> Option<usize> {
        self.asids.iter().position(|given| given.is_some_and(|(who, _)| who == process))
    }

    fn flush_tag(&mut self, outcome: &mut Outcome, gone: u64) {
        self.forget_last();
        outcome.flushes += 1;
        self.flush(outcome, |entry| page_size::tag(entry) == gone);
        self.walker.forget(|tag| tag == gone);
    }

    fn flush(&mut self, outcome: &mut Outcome, goes: impl Fn(u64) -> bool) {
        for (tlb, counts) in self.tlbs.iter_mut().zip(&mut outcome.tlbs) {
            counts.flushed += tlb.remove(&goes);
        }
        self.unused.retain(|(_, entry)| !goes(*entry));
    }

    pub(crate) fn references(&self) -> u64 {
        self.references.iter().flatten().sum()
    }

    /// Adds its references, each of which looked into the first TLB of its route.
    pub(crate) fn add_references(&self, outcome: &mut Outcome) {
        for (side, references) in self.references.iter().enumerate() {
            for (route, count) in self.routes[side].iter().zip(references) {
                outcome.references += count;
                outcome.fetches += count * side as u64;
                outcome.tlbs[route[0].tlb].accesses += count;
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn contents(&self) -> Vec<Vec<u64>> {
        self.tlbs.iter().map(|tlb| tlb.entries().collect()).collect()
    }
}

/// The TLBs that a page of some size is looked up in.
fn route(machine: &Machine, fetch: bool, size: PageSize) -> Vec<Stop> {
    let stop = |level, size| {
        let tlb = machine.tlb(level, fetch, size)?;
        Some(Stop { tlb, size, lookup_cycles: machine.tlbs[tlb].lookup_cycles })
    };
    (1..=machine.levels())
        .filter_map(|level| match stop(level, size) {
            // The first level must hold every page, if need be in chunks.
            None if level == 1 => PageSize::EACH
                .into_iter()
                .rev()
                .filter(|piece| *piece < size)
                .find_map(|piece| stop(level, piece)),
            stop => stop,
        })
        .collect()
}
