//! The counts of a run.

use model::counted;

use super::machine::{Machine, NESTED};
use super::options::Options;
use super::page_size::PageSize;

counted! {
    /// Counts of a run, summed over cores.
    pub struct Outcome {
        /// References, fetches among them.
        pub references: u64,
        /// Fetches of instructions among them.
        pub fetches: u64,
        /// Each TLB, in the order of the machine's description.
        pub tlbs: Vec<TlbOutcome>,
        /// Each page-walk cache, likewise.
        pub walk_caches: Vec<CacheOutcome>,
        /// The nested TLB, if walks were of two dimensions and the machine has one.
        pub nested: Option<CacheOutcome>,
        /// Page walks that references waited for.
        pub walks: WalkOutcome,
        /// Page walks of prefetches, for which nothing waits.
        pub prefetch_walks: WalkOutcome,
        /// Prefetched translations that a reference found while they were in the TLB.
        pub prefetches_used: u64,
        /// Cycles of looking into TLBs.
        pub lookup_cycles: u64,
        /// Switches of a core to another process.
        pub switches: u64,
        /// Times that an address-space number was taken from another process.
        pub asids_taken: u64,
        /// Times that an address space was flushed as a whole, at one core.
        pub flushes: u64,
        /// Times that single pages were flushed, at one core.
        pub page_flushes: u64,
    }
}

counted! {
    /// Counts of one TLB.
    pub struct TlbOutcome {
        /// Its name.
        pub name: String,
        /// Its level, from 1.
        pub level: u32,
        /// Number of entries.
        pub entries: usize,
        /// Entries of a set.
        pub ways: usize,
        /// Sizes of the pages that it keeps.
        pub pages: Vec<&'static str>,
        /// Which references it serves.
        pub serves: &'static str,
        /// References that looked here.
        pub accesses: u64,
        /// References that found their translation here.
        pub hits: u64,
        /// References that did not find their translation here.
        pub misses: u64,
        /// Translations that were inserted.
        pub fills: u64,
        /// Translations evicted for others.
        pub evictions: u64,
        /// Translations that were flushed.
        pub flushed: u64,
    }
}

counted! {
    /// Counts of a cache that walks use.
    pub struct CacheOutcome {
        /// Its name.
        pub name: String,
        /// Walks that looked here.
        pub accesses: u64,
        /// Walks that continued from what they found here.
        pub hits: u64,
    }
}

counted! {
    /// Counts of page walks.
    #[derive(Copy)]
    pub struct WalkOutcome {
        /// How many.
        pub walks: u64,
        /// Entries read, by the level of their table, from 1.
        pub steps: [u64; 5],
        /// Entries of the host's tables that walks in a guest read, likewise.
        pub host_steps: [u64; 5],
        /// How many of all those steps came from memory.
        pub steps_from_memory: u64,
        /// Their cycles.
        pub cycles: u64,
    }
}

impl Outcome {
    /// Zeros, with the names of a machine's parts.
    pub(crate) fn of(machine: &Machine, options: &Options) -> Self {
        let tlbs = machine.tlbs.iter().map(|tlb| TlbOutcome {
            name: tlb.name.clone(),
            level: tlb.level,
            entries: tlb.entries,
            ways: tlb.shape().ways,
            pages: tlb.pages.iter().copied().map(PageSize::name).collect(),
            serves: tlb.serves.name(),
            ..TlbOutcome::default()
        });
        let cache = |name: &str| CacheOutcome { name: name.to_owned(), ..CacheOutcome::default() };
        let nested = machine.nested.as_ref().filter(|_| options.virtualized);
        Self {
            tlbs: tlbs.collect(),
            walk_caches: machine.walk_caches.iter().map(|of| cache(&of.name)).collect(),
            nested: nested.map(|_| cache(NESTED)),
            ..Self::default()
        }
    }
}

impl WalkOutcome {
    /// Entries read in all.
    pub fn all_steps(&self) -> u64 {
        self.steps.iter().chain(&self.host_steps).sum()
    }
}
