//! Descriptions of machines with translation look-aside buffers.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::array::{Index, MOST_WAYS, Shape};
use super::page_size::PageSize;
use super::policy::Policy;
use crate::machine::{MachineError, read};

/// The most entries of one array.
const MOST_ENTRIES: usize = 1 << 20;
/// The most address-space numbers that fit beside a page's number.
pub(crate) const MOST_ASIDS: u32 = 1 << 15;
/// The most levels of TLBs.
const MOST_LEVELS: u32 = 4;

/// The nested TLB's name in results.
pub(crate) const NESTED: &str = "nested";

/// A machine with translation look-aside buffers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Always `tlb`.
    pub kind: String,
    /// What it is, in one line.
    pub about: String,
    /// How many address-space numbers a core has; 0: it has none, and forgets at every switch.
    #[serde(default = "no_asids")]
    pub asids: Spanned<u32>,
    /// Whether every walk is followed by one for the next page, into the last level.
    #[serde(default)]
    pub prefetch: Prefetch,
    /// Its arrays of translations, in the order in which they are printed.
    #[serde(rename = "tlb")]
    pub tlbs: Spanned<Vec<Tlb>>,
    /// Its caches of upper entries of page tables.
    #[serde(default, rename = "walk_cache")]
    pub walk_caches: Vec<WalkCache>,
    /// What a page walk costs.
    pub walk: Walk,
    /// Its cache of translations of guest-physical pages, which walks in a guest use.
    pub nested: Option<Nested>,
}

/// One array of translations. A level that keeps sizes of pages apart has several.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tlb {
    /// Its name in results.
    pub name: Spanned<String>,
    /// Level, from 1, which is looked up first.
    pub level: Spanned<u32>,
    /// Which references look here.
    pub serves: Serves,
    /// Sizes of the pages that it keeps.
    pub pages: Spanned<Vec<PageSize>>,
    /// Number of entries.
    pub entries: Spanned<usize>,
    /// Entries of a set; without, all are one set.
    pub ways: Option<Spanned<usize>>,
    /// Which entry makes room.
    #[serde(default)]
    pub policy: Policy,
    /// How the set of a page is found.
    #[serde(default)]
    pub index: Index,
    /// Cycles that looking here adds, found or not.
    #[serde(default)]
    pub lookup_cycles: u64,
}

/// Which references a TLB serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Serves {
    /// Fetches of instructions.
    Fetch,
    /// Loads and stores.
    Data,
    /// Both.
    Both,
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

/// What is fetched before it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prefetch {
    /// Nothing.
    #[default]
    None,
    /// The translation of the page after one that had to be walked for.
    NextPage,
}

/// A cache of one level of page tables' entries, so that walks begin below it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkCache {
    /// Its name in results.
    pub name: Spanned<String>,
    /// The level of page table whose entries it keeps: 2 page directory, 3 directory pointers, …
    pub table: Spanned<u32>,
    /// Number of entries.
    pub entries: Spanned<usize>,
    /// Entries of a set; without, all are one set.
    pub ways: Option<Spanned<usize>>,
    /// Which entry makes room.
    #[serde(default)]
    pub policy: Policy,
}

/// Costs of page walks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Walk {
    /// Levels of page tables, 4 or 5.
    pub levels: Spanned<u32>,
    /// Cycles of a walk beside its steps.
    pub start_cycles: u64,
    /// Cycles of a step whose line is in the data caches.
    pub cached_cycles: u64,
    /// Cycles of a step whose line comes from memory.
    pub memory_cycles: u64,
    /// Lines of page tables, each with 8 entries, that the data caches keep.
    pub cached_lines: Spanned<usize>,
    /// Lines of a set; without, all are one set.
    pub cached_ways: Option<Spanned<usize>>,
}

/// A TLB of guest-physical pages.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nested {
    /// Number of entries.
    pub entries: Spanned<usize>,
    /// Entries of a set; without, all are one set.
    pub ways: Option<Spanned<usize>>,
    /// Which entry makes room.
    #[serde(default)]
    pub policy: Policy,
}

fn no_asids() -> Spanned<u32> {
    Spanned::new(0..0, 0)
}

impl Machine {
    /// Reads a description.
    ///
    /// # Errors
    /// What is wrong in it, and where.
    pub fn parse(text: &str) -> Result<Self, MachineError> {
        let machine: Self = read(text)?;
        machine.check().map_err(|(span, reason)| MachineError::at(text, Some(span), reason))?;
        Ok(machine)
    }

    /// The TLB of a level that serves fetches or data and keeps a size of page.
    pub(crate) fn tlb(&self, level: u32, fetch: bool, size: PageSize) -> Option<usize> {
        self.tlbs.get_ref().iter().position(|tlb| {
            *tlb.level.get_ref() == level
                && tlb.serves.serves(fetch)
                && tlb.pages.get_ref().contains(&size)
        })
    }

    /// The deepest level of TLBs.
    pub(crate) fn levels(&self) -> u32 {
        self.tlbs.get_ref().iter().map(|tlb| *tlb.level.get_ref()).max().unwrap_or(0)
    }

    fn check(&self) -> Result<(), Wrong> {
        if *self.asids.get_ref() > MOST_ASIDS {
            return Err(wrong(&self.asids, format!("there can be at most {MOST_ASIDS} asids")));
        }
        self.check_names()?;
        for tlb in self.tlbs.get_ref() {
            tlb.shape()?;
            if !(1..=MOST_LEVELS).contains(tlb.level.get_ref()) {
                return Err(wrong(&tlb.level, format!("a level is from 1 to {MOST_LEVELS}")));
            }
            if tlb.pages.get_ref().is_empty() {
                return Err(wrong(&tlb.pages, "a TLB keeps at least one size of pages"));
            }
        }
        self.check_overlaps()?;
        for fetch in [false, true] {
            if self.tlb(1, fetch, PageSize::Small).is_none() {
                let side = if fetch { "fetches" } else { "data" };
                let reason = format!("no TLB of level 1 serves {side} and keeps 4K pages");
                return Err(wrong(&self.tlbs, reason));
            }
        }
        self.check_walk()
    }

    fn check_names(&self) -> Result<(), Wrong> {
        let tlbs = self.tlbs.get_ref().iter().map(|tlb| &tlb.name);
        // This is what the nested TLB is called in results.
        let nested = NESTED.to_owned();
        let mut before = vec![&nested];
        for name in tlbs.chain(self.walk_caches.iter().map(|cache| &cache.name)) {
            if name.get_ref().is_empty() || before.contains(&name.get_ref()) {
                return Err(wrong(
                    name,
                    "TLBs and walk caches have names of their own, not \"nested\"",
                ));
            }
            before.push(name.get_ref());
        }
        Ok(())
    }

    /// A level has but one place for a page.
    fn check_overlaps(&self) -> Result<(), Wrong> {
        for (index, tlb) in self.tlbs.get_ref().iter().enumerate() {
            for fetch in [false, true].into_iter().filter(|fetch| tlb.serves.serves(*fetch)) {
                for size in tlb.pages.get_ref() {
                    let first = self.tlb(*tlb.level.get_ref(), fetch, *size);
                    if first != Some(index) {
                        let other = first
                            .map_or("", |first| self.tlbs.get_ref()[first].name.get_ref().as_str());
                        let reason = format!(
                            "pages of {} would be in two TLBs of level {}: {other} has them too",
                            size.name(),
                            tlb.level.get_ref(),
                        );
                        return Err(wrong(&tlb.pages, reason));
                    }
                }
            }
        }
        Ok(())
    }

    fn check_walk(&self) -> Result<(), Wrong> {
        let levels = *self.walk.levels.get_ref();
        if !(4..=5).contains(&levels) {
            return Err(wrong(&self.walk.levels, "page tables have 4 or 5 levels"));
        }
        for (index, cache) in self.walk_caches.iter().enumerate() {
            cache.shape()?;
            if !(2..=levels).contains(cache.table.get_ref()) {
                let reason = format!("a walk cache keeps entries of tables from 2 to {levels}");
                return Err(wrong(&cache.table, reason));
            }
            if self.walk_caches[..index].iter().any(|other| other.table == cache.table) {
                return Err(wrong(&cache.table, "another walk cache keeps this table's entries"));
            }
        }
        self.walk.shape()?;
        self.nested.as_ref().map_or(Ok(()), |nested| nested.shape().map(drop))
    }
}

impl Tlb {
    pub(crate) fn shape(&self) -> Result<Shape, Wrong> {
        let shape = shape(&self.entries, self.ways.as_ref(), self.policy)?;
        Ok(Shape { index: self.index, ..shape })
    }
}

impl WalkCache {
    pub(crate) fn shape(&self) -> Result<Shape, Wrong> {
        shape(&self.entries, self.ways.as_ref(), self.policy)
    }
}

impl Walk {
    pub(crate) fn shape(&self) -> Result<Shape, Wrong> {
        let shape = shape(&self.cached_lines, self.cached_ways.as_ref(), Policy::Lru)?;
        Ok(Shape { index: Index::Xor, ..shape })
    }
}

impl Nested {
    pub(crate) fn shape(&self) -> Result<Shape, Wrong> {
        shape(&self.entries, self.ways.as_ref(), self.policy)
    }
}

/// What is wrong, and the place in the description.
pub(crate) type Wrong = (Range<usize>, String);

fn wrong<T>(at: &Spanned<T>, reason: impl Into<String>) -> Wrong {
    (at.span(), reason.into())
}

fn shape(
    entries: &Spanned<usize>,
    ways: Option<&Spanned<usize>>,
    policy: Policy,
) -> Result<Shape, Wrong> {
    let count = *entries.get_ref();
    if !(1..=MOST_ENTRIES).contains(&count) {
        return Err(wrong(entries, format!("there are from 1 to {MOST_ENTRIES} entries")));
    }
    let ways = ways.unwrap_or(entries);
    let in_set = *ways.get_ref();
    if !(1..=MOST_WAYS).contains(&in_set) {
        return Err(wrong(ways, format!("a set has from 1 to {MOST_WAYS} ways")));
    }
    if !count.is_multiple_of(in_set) || !(count / in_set).is_power_of_two() {
        let reason = format!("{count} entries of {in_set} ways are no power of two of sets");
        return Err(wrong(ways, reason));
    }
    if let Some(reason) = policy.refuses(in_set) {
        return Err(wrong(ways, reason));
    }
    Ok(Shape { entries: count, ways: in_set, policy, index: Index::Low })
}
