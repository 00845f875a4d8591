//! Page walks: the entries that are read, and their cost.

use super::array::{Array, Lookup};
use super::frames::Frames;
use super::machine::{Machine, Walk, shape};
use super::options::Options;
use super::outcome::{CacheOutcome, Outcome, WalkOutcome};
use super::page_size::{NOTHING, PAGE_MASK, PageSize, entry, tag};
use super::space::{Owner, Space};
use super::translations::Mapped;

/// The tag of lines of the host's tables.
const HOST: u64 = (1 << 17) - 2;
/// The owner of tables that all address spaces of a guest have; no trace of a guest has mappings.
const GLOBAL: Owner = Owner::Mapping(0x7fff);
/// Lines have 8 entries.
const LINE_SHIFT: u32 = 3;

/// The page walker of one core.
#[derive(Clone, Debug)]
pub(crate) struct Walker {
    /// The machine's walk, with the levels of the options.
    walk: Walk,
    /// By preference: from the lowest table up.
    caches: Vec<Cache>,
    nested: Option<Array>,
    /// Lines of page tables in the data caches.
    lines: Array,
    /// The size of the host's pages, if there is a host.
    host: Option<PageSize>,
}

#[derive(Clone, Debug)]
struct Cache {
    /// Its place in the machine's description.
    place: usize,
    table: u32,
    array: Array,
}

/// A page to walk for.
pub(crate) struct Wanted<'space> {
    pub(crate) page: u64,
    pub(crate) mapped: Mapped,
    pub(crate) tag: u64,
    pub(crate) space: &'space Space,
    /// Whether processes share page tables.
    pub(crate) share: bool,
    /// Whether nothing waits for it.
    pub(crate) prefetch: bool,
}

impl Walker {
    /// `seed` returns a seed for each array.
    pub(crate) fn new(machine: &Machine, options: &Options, mut seed: impl FnMut() -> u64) -> Self {
        let walk = &machine.walk;
        let levels = options.levels.unwrap_or(walk.levels);
        let host = options.virtualized.then_some(options.host_page_size);
        let mut cache =
            |place, table, shape| Cache { place, table, array: Array::new(shape, seed()) };
        let described = machine.walk_caches.iter().enumerate();
        let mut caches: Vec<Cache> = described
            .map(|(place, of)| cache(place, of.table, shape(of.entries, of.ways, of.policy)))
            .collect();
        caches.sort_by_key(|cache| cache.table);
        let nested = machine.nested.as_ref().filter(|_| host.is_some());
        Self {
            walk: Walk { levels, ..walk.clone() },
            caches,
            nested: nested.map(|of| cache(0, 0, shape(of.entries, of.ways, of.policy)).array),
            lines: Array::new(walk.shape(), seed()),
            host,
        }
    }

    pub(crate) fn walk(&mut self, wanted: &Wanted<'_>, frames: &mut Frames, outcome: &mut Outcome) {
        let Outcome { walk_caches, nested, walks, prefetch_walks, .. } = outcome;
        let count = if wanted.prefetch { prefetch_walks } else { walks };
        count.walks += 1;
        count.cycles += self.walk.start_cycles;
        let leaf = wanted.mapped.size.leaf();
        let first = self.first_table(wanted, leaf, walk_caches);
        for table in (leaf..=first).rev() {
            let owner = owner(wanted, 9 * table);
            if self.host.is_some() {
                let number = wanted.page >> (9 * table);
                let frame = frames.frame(owner, table, number, PageSize::Small);
                self.host_walk(frame, count, nested);
            }
            self.step(line(owner_tag(owner), table, wanted.page), count);
            count.steps[table as usize - 1] += 1;
            if table > leaf
                && let Some(cache) = self.caches.iter_mut().find(|cache| cache.table == table)
            {
                cache.array.access(upper_entry(wanted, table));
            }
        }
        if self.host.is_some() {
            let size = wanted.mapped.size;
            let shift = size.shift();
            let owner = owner(wanted, shift);
            let frame = frames.frame(owner, 0, wanted.page >> shift, size);
            let within = wanted.page & ((1 << shift) - 1);
            self.host_walk(frame + within, count, nested);
        }
    }

    /// Removes all entries of a tag.
    pub(crate) fn forget(&mut self, gone: impl Fn(u64) -> bool) {
        for cache in &mut self.caches {
            cache.array.remove(|entry| gone(tag(entry)));
        }
    }

    /// The first table of a walk: below the lowest entry in a cache.
    fn first_table(&mut self, wanted: &Wanted<'_>, leaf: u32, counts: &mut [CacheOutcome]) -> u32 {
        let mut first = None;
        let tables = leaf + 1..=self.walk.levels;
        for cache in self.caches.iter_mut().filter(|cache| tables.contains(&cache.table)) {
            counts[cache.place].accesses += 1;
            let upper = upper_entry(wanted, cache.table);
            if first.is_none() && cache.array.has(upper) {
                counts[cache.place].hits += 1;
                cache.array.access(upper);
                first = Some(cache.table - 1);
            }
        }
        first.unwrap_or(self.walk.levels)
    }

    /// Translates a guest-physical page.
    fn host_walk(
        &mut self,
        frame: u64,
        count: &mut WalkOutcome,
        nested: &mut Option<CacheOutcome>,
    ) {
        let Some(size) = self.host else { return };
        if let (Some(array), Some(nested)) = (&mut self.nested, nested) {
            nested.accesses += 1;
            if array.access(entry(frame, size, 0)) == Lookup::Hit {
                nested.hits += 1;
                return;
            }
        }
        for table in (size.leaf()..=self.walk.levels).rev() {
            self.step(line(HOST, table, frame), count);
            count.host_steps[table as usize - 1] += 1;
        }
    }

    /// Reads an entry of a table.
    fn step(&mut self, line: u64, count: &mut WalkOutcome) {
        if self.lines.access(line) == Lookup::Hit {
            count.cycles += self.walk.cached_cycles;
        } else {
            count.cycles += self.walk.memory_cycles;
            count.steps_from_memory += 1;
        }
    }
}

/// The owner of a chunk of `2^shift` pages.
fn owner(wanted: &Wanted<'_>, shift: u32) -> Owner {
    match wanted.mapped.is_global {
        // A kernel's tables, which all address spaces have.
        true => GLOBAL,
        false if wanted.share => wanted.space.owner(wanted.page, shift),
        false => wanted.space.own(),
    }
}

/// Lines of 2^16 processes and 2^15 mappings are kept apart.
fn owner_tag(owner: Owner) -> u64 {
    match owner {
        Owner::Process(process) => u64::from(process) & 0xffff,
        Owner::Mapping(id) => (u64::from(id) & 0x7fff) | 1 << 16,
    }
}

/// The entry of a walk cache that maps a page.
fn upper_entry(wanted: &Wanted<'_>, table: u32) -> u64 {
    entry(wanted.page >> (9 * (table - 1)), PageSize::Small, wanted.tag)
}

/// The unique number of the line of a table with a page's entry. The owner's tag shifts tables of
/// different owners against each other, so that they use different sets.
fn line(owner: u64, table: u32, page: u64) -> u64 {
    let number = u64::from(table) << 42 | (page & PAGE_MASK) >> (9 * (table - 1) + LINE_SHIFT);
    let elsewhere = owner.wrapping_mul(0x9e37_79b1) & (PAGE_MASK >> LINE_SHIFT);
    let line = number ^ elsewhere | owner << 47;
    debug_assert_ne!(line, NOTHING, "no owner has this tag");
    line
}
