//! Machines and counts as numbers, which a simulator in another process reads and writes.

use super::array::Index;
use super::machine::{Machine, Prefetch, Serves, Tlb, Walk, WalkCache};
use super::outcome::{CacheOutcome, Outcome, WalkOutcome};
use super::page_size::PageSize;
use super::policy::Policy;

impl Machine {
    /// Its numbers, without names and without the nested TLB. [`Self::of_words`] reads them.
    pub fn words(&self) -> Vec<u64> {
        let position = |ways: Option<usize>| ways.unwrap_or(0) as u64;
        let mut words = vec![u64::from(self.asids), self.prefetch as u64, self.tlbs.len() as u64];
        for tlb in &self.tlbs {
            let pages = tlb.pages.iter().map(|size| 1 << *size as u64).sum();
            words.extend([u64::from(tlb.level), tlb.serves as u64, pages, tlb.entries as u64]);
            words.extend([position(tlb.ways), tlb.policy as u64, tlb.index as u64]);
            words.push(tlb.lookup_cycles);
        }
        words.push(self.walk_caches.len() as u64);
        for cache in &self.walk_caches {
            words.extend([u64::from(cache.table), cache.entries as u64]);
            words.extend([position(cache.ways), cache.policy as u64]);
        }
        let Walk { levels, start_cycles, cached_cycles, memory_cycles, cached_lines, cached_ways } =
            self.walk;
        words.extend([u64::from(levels), start_cycles, cached_cycles, memory_cycles]);
        words.extend([cached_lines as u64, position(cached_ways)]);
        words
    }

    /// The machine with these numbers; `None` if they are none of a machine.
    pub(crate) fn of_words(words: impl IntoIterator<Item = u64>) -> Option<Self> {
        let mut words = words.into_iter();
        let mut word = || words.next();
        let (asids, prefetch) = (word()? as u32, *Prefetch::ALL.get(word()? as usize)?);
        let ways = |ways: u64| (ways > 0).then_some(ways as usize);
        let policy = |word: u64| Policy::ALL.get(word as usize).copied();
        let mut tlbs = Vec::new();
        for number in 0..word()? {
            let (level, serves, pages) = (word()? as u32, word()?, word()?);
            let is_kept = |size: &PageSize| pages >> *size as u64 & 1 == 1;
            tlbs.push(Tlb {
                name: number.to_string(),
                level,
                serves: *Serves::ALL.get(serves as usize)?,
                pages: PageSize::EACH.into_iter().filter(is_kept).collect(),
                entries: word()? as usize,
                ways: ways(word()?),
                policy: policy(word()?)?,
                index: *Index::ALL.get(word()? as usize)?,
                lookup_cycles: word()?,
            });
        }
        let mut walk_caches = Vec::new();
        for number in 0..word()? {
            walk_caches.push(WalkCache {
                name: number.to_string(),
                table: word()? as u32,
                entries: word()? as usize,
                ways: ways(word()?),
                policy: policy(word()?)?,
            });
        }
        let walk = Walk {
            levels: word()? as u32,
            start_cycles: word()?,
            cached_cycles: word()?,
            memory_cycles: word()?,
            cached_lines: word()? as usize,
            cached_ways: ways(word()?),
        };
        let (kind, about) = (String::new(), String::new());
        Some(Self { kind, about, asids, prefetch, tlbs, walk_caches, walk, nested: None })
    }
}

impl Outcome {
    /// All its counts, in order; [`Self::with_numbers`] reads them.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        // Each count is visited as one to be changed, so that order and number are written once.
        let mut numbers = Vec::new();
        self.clone().each(|count| {
            numbers.push(*count);
            Some(())
        });
        numbers
    }

    /// These counts, with the names of a machine that counted nothing; `None` if there are fewer.
    pub fn with_numbers(machine: &Machine, mut numbers: impl Iterator<Item = u64>) -> Option<Self> {
        let mut outcome = Self::of(machine, &super::options::Options::default());
        outcome.each(|count| {
            *count = numbers.next()?;
            Some(())
        })?;
        Some(outcome)
    }

    fn each(&mut self, mut visit: impl FnMut(&mut u64) -> Option<()>) -> Option<()> {
        let Self { references, fetches, tlbs, walk_caches, nested: _, walks, .. } = self;
        let Self { prefetch_walks, prefetches_used, lookup_cycles, switches, .. } = self;
        let Self { asids_taken, flushes, page_flushes, .. } = self;
        let mut all = vec![references, fetches, prefetches_used, lookup_cycles, switches];
        all.extend([asids_taken, flushes, page_flushes]);
        for tlb in tlbs {
            all.extend([&mut tlb.accesses, &mut tlb.hits, &mut tlb.misses, &mut tlb.fills]);
            all.extend([&mut tlb.evictions, &mut tlb.flushed]);
        }
        for CacheOutcome { accesses, hits, .. } in walk_caches {
            all.extend([accesses, hits]);
        }
        for WalkOutcome { walks, steps, host_steps, steps_from_memory, cycles } in
            [walks, prefetch_walks]
        {
            all.extend([walks, steps_from_memory, cycles]);
            all.extend(steps.iter_mut().chain(host_steps));
        }
        all.into_iter().try_for_each(&mut visit)
    }
}
