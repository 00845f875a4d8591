//! Descriptions of machines with translation look-aside buffers.

use model::description::{Description, DescriptionError};
use model::named;
use serde::Deserialize;

use super::array::{Index, MOST_WAYS, Shape};
use super::page_size::PageSize;
use super::policy::Policy;

const MOST_ENTRIES: usize = 1 << 20;
/// The most address-space numbers that fit next to a page number.
pub(crate) const MOST_ASIDS: u32 = 1 << 15;
const MOST_LEVELS: u32 = 4;

/// The nested TLB's name in results.
pub(crate) const NESTED: &str = "nested";

/// A machine with translation look-aside buffers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Always `tlb`.
    pub kind: String,
    /// A summary in one line.
    pub about: String,
    /// Address-space numbers of a core; 0: it has none, and flushes at every switch.
    #[serde(default)]
    pub asids: u32,
    /// What is prefetched into the last level after a walk.
    #[serde(default)]
    pub prefetch: Prefetch,
    /// Its arrays of translations, in print order.
    #[serde(rename = "tlb")]
    pub tlbs: Vec<Tlb>,
    /// Its caches of upper entries of page tables.
    #[serde(default, rename = "walk_cache")]
    pub walk_caches: Vec<WalkCache>,
    /// The cost of page walks.
    pub walk: Walk,
    /// Its cache of translations of guest-physical pages.
    pub nested: Option<Nested>,
}

/// One array of translations. A level that keeps sizes of pages apart has several.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tlb {
    /// Its name in results.
    pub name: String,
    /// Level, from 1, which is looked up first.
    pub level: u32,
    /// Which references look here.
    pub serves: Serves,
    /// Sizes of the pages that it keeps.
    pub pages: Vec<PageSize>,
    /// Number of entries.
    pub entries: usize,
    /// Entries of a set; without, all are one set.
    pub ways: Option<usize>,
    /// Which entry is evicted.
    #[serde(default)]
    pub policy: Policy,
    /// How the set of a page is found.
    #[serde(default)]
    pub index: Index,
    /// Cycles that looking here adds, found or not.
    #[serde(default)]
    pub lookup_cycles: u64,
}

named! {
    /// Which references a TLB serves.
    pub enum Serves {
        /// Fetches of instructions.
        Fetch = "fetch",
        /// Loads and stores.
        Data = "data",
        /// Both.
        Both = "both",
    }
}

impl Serves {
    pub(crate) fn serves(self, fetch: bool) -> bool {
        match self {
            Self::Fetch => fetch,
            Self::Data => !fetch,
            Self::Both => true,
        }
    }
}

named! {
    /// What is prefetched.
    #[derive(Default)]
    pub enum Prefetch {
        /// Nothing.
        #[default]
        None = "none",
        /// The translation of the page after one that had to be walked for.
        NextPage = "next-page",
    }
}

/// A cache of one level of page tables' entries, so that walks begin below it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkCache {
    /// Its name in results.
    pub name: String,
    /// The level of page table whose entries it keeps: 2 page directory, 3 directory pointers, …
    pub table: u32,
    /// Number of entries.
    pub entries: usize,
    /// Entries of a set; without, all are one set.
    pub ways: Option<usize>,
    /// Which entry is evicted.
    #[serde(default)]
    pub policy: Policy,
}

/// Costs of page walks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Walk {
    /// Levels of page tables, 4 or 5.
    pub levels: u32,
    /// Cycles of a walk besides its steps.
    pub start_cycles: u64,
    /// Cycles of a step whose line is in the data caches.
    pub cached_cycles: u64,
    /// Cycles of a step whose line comes from memory.
    pub memory_cycles: u64,
    /// Lines of page tables, each with 8 entries, that the data caches keep.
    pub cached_lines: usize,
    /// Lines of a set; without, all are one set.
    pub cached_ways: Option<usize>,
}

/// A TLB of guest-physical pages.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nested {
    /// Number of entries.
    pub entries: usize,
    /// Entries of a set; without, all are one set.
    pub ways: Option<usize>,
    /// Which entry is evicted.
    #[serde(default)]
    pub policy: Policy,
}

impl Machine {
    /// Reads a description in TOML; an error has its place and reason.
    pub fn parse(text: &str) -> Result<Self, DescriptionError> {
        let description = Description(text);
        let machine: Self = description.read()?;
        machine.check(description).map(|()| machine)
    }

    /// The TLB of a level that serves fetches or data and keeps a size of page.
    pub(crate) fn tlb(&self, level: u32, fetch: bool, size: PageSize) -> Option<usize> {
        self.tlbs.iter().position(|tlb| {
            tlb.level == level && tlb.serves.serves(fetch) && tlb.pages.contains(&size)
        })
    }

    pub(crate) fn levels(&self) -> u32 {
        self.tlbs.iter().map(|tlb| tlb.level).max().unwrap_or(0)
    }

    fn check<'m>(&'m self, description: Description<'_>) -> Result<(), DescriptionError> {
        let reason = format!("there can be at most {MOST_ASIDS} asids");
        description.that("asids", self.asids <= MOST_ASIDS, reason)?;
        let mut names = vec![NESTED];
        let mut own_name = |path: &str, name: &'m str| {
            let is_own = !name.is_empty() && !names.contains(&name);
            names.push(name);
            let reason = "TLBs and walk caches have names of their own, not \"nested\"";
            description.that(&format!("{path}.name"), is_own, reason)
        };
        for (index, tlb) in self.tlbs.iter().enumerate() {
            let path = format!("tlb.{index}");
            own_name(&path, &tlb.name)?;
            check_array(description, &path, ["entries", "ways"], tlb.shape())?;
            let reason = format!("a level is from 1 to {MOST_LEVELS}");
            let is_level = (1..=MOST_LEVELS).contains(&tlb.level);
            description.that(&format!("{path}.level"), is_level, reason)?;
            let pages = format!("{path}.pages");
            let reason = "a TLB keeps at least one size of pages";
            description.that(&pages, !tlb.pages.is_empty(), reason)?;
            self.check_overlaps(description, &pages, index, tlb)?;
        }
        for (fetch, side) in [(false, "data"), (true, "fetches")] {
            let reason = format!("no TLB of level 1 serves {side} and keeps 4K pages");
            let is_kept = self.tlb(1, fetch, PageSize::Small).is_some();
            description.that("tlb", is_kept, reason)?;
        }
        let levels = self.walk.levels;
        let is_known = (4..=5).contains(&levels);
        description.that("walk.levels", is_known, "page tables have 4 or 5 levels")?;
        for (index, cache) in self.walk_caches.iter().enumerate() {
            let path = format!("walk_cache.{index}");
            own_name(&path, &cache.name)?;
            let shape = shape(cache.entries, cache.ways, cache.policy);
            check_array(description, &path, ["entries", "ways"], shape)?;
            let table = format!("{path}.table");
            let reason = format!("a walk cache keeps entries of tables from 2 to {levels}");
            description.that(&table, (2..=levels).contains(&cache.table), reason)?;
            let before = &self.walk_caches[..index];
            let is_first = before.iter().all(|other| other.table != cache.table);
            description.that(&table, is_first, "another walk cache keeps this table's entries")?;
        }
        check_array(description, "walk", ["cached_lines", "cached_ways"], self.walk.shape())?;
        let Some(nested) = &self.nested else { return Ok(()) };
        let shape = shape(nested.entries, nested.ways, nested.policy);
        check_array(description, "nested", ["entries", "ways"], shape)
    }

    /// A level must have one place for a page.
    fn check_overlaps(
        &self,
        description: Description<'_>,
        path: &str,
        index: usize,
        tlb: &Tlb,
    ) -> Result<(), DescriptionError> {
        for fetch in [false, true].into_iter().filter(|fetch| tlb.serves.serves(*fetch)) {
            for size in &tlb.pages {
                let first = self.tlb(tlb.level, fetch, *size).unwrap_or(index);
                let (name, level, other) = (size.name(), tlb.level, &self.tlbs[first].name);
                let reason = format!(
                    "pages of {name} would be in two TLBs of level {level}: {other} has them too"
                );
                description.that(path, first == index, reason)?;
            }
        }
        Ok(())
    }
}

impl Tlb {
    pub(crate) fn shape(&self) -> Shape {
        Shape { index: self.index, ..shape(self.entries, self.ways, self.policy) }
    }
}

impl Walk {
    pub(crate) fn shape(&self) -> Shape {
        let lines = shape(self.cached_lines, self.cached_ways, Policy::Lru);
        Shape { index: Index::Xor, ..lines }
    }
}

/// Without ways all entries are one set.
pub(crate) fn shape(entries: usize, ways: Option<usize>, policy: Policy) -> Shape {
    Shape { entries, ways: ways.unwrap_or(entries), policy, index: Index::Low }
}

/// Refuses impossible numbers of entries and ways, which have these keys.
fn check_array(
    description: Description<'_>,
    path: &str,
    keys: [&str; 2],
    shape: Shape,
) -> Result<(), DescriptionError> {
    let [entries_path, ways_path] = keys.map(|key| format!("{path}.{key}"));
    let Shape { entries, ways, policy, .. } = shape;
    let reason = format!("there are from 1 to {MOST_ENTRIES} entries");
    description.that(&entries_path, (1..=MOST_ENTRIES).contains(&entries), reason)?;
    let reason = format!("a set has from 1 to {MOST_WAYS} ways");
    description.that(&ways_path, (1..=MOST_WAYS).contains(&ways), reason)?;
    let is_even = entries.is_multiple_of(ways) && (entries / ways).is_power_of_two();
    let reason = format!("{entries} entries in sets of {ways} do not make a power of two of sets");
    description.that(&ways_path, is_even, reason)?;
    policy.refuses(ways).map_or(Ok(()), |reason| description.refuse(&ways_path, reason))
}
