//! Machines with translation look-aside buffers.

use model::{described, named};

use super::array::{Index, Shape};
use super::page_size::PageSize;
use super::policy::Policy;

/// The most address-space numbers that fit next to a page number.
pub(crate) const MOST_ASIDS: u32 = 1 << 15;

/// The nested TLB's name in results.
pub(crate) const NESTED: &str = "nested";

described! {
    /// A machine with translation look-aside buffers.
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
}

described! {
    /// One array of translations. A level that keeps sizes of pages apart has several.
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

described! {
    /// A cache of one level of page tables' entries, so that walks begin below it.
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
}

described! {
    /// Costs of page walks.
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
}

described! {
    /// A TLB of guest-physical pages.
    pub struct Nested {
        /// Number of entries.
        pub entries: usize,
        /// Entries of a set; without, all are one set.
        pub ways: Option<usize>,
        /// Which entry is evicted.
        #[serde(default)]
        pub policy: Policy,
    }
}

impl Machine {
    /// The TLB of a level that serves fetches or data and keeps a size of page.
    pub(crate) fn tlb(&self, level: u32, fetch: bool, size: PageSize) -> Option<usize> {
        self.tlbs.iter().position(|tlb| {
            tlb.level == level && tlb.serves.serves(fetch) && tlb.pages.contains(&size)
        })
    }

    pub(crate) fn levels(&self) -> u32 {
        self.tlbs.iter().map(|tlb| tlb.level).max().unwrap_or(0)
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
