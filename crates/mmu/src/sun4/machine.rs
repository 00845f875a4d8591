//! The hardware of a Sun-4: what a description says, and what contradicts itself in it.

use serde::Deserialize;
use toml::Spanned;

use crate::machine::{Checks, MachineError, read};

/// A pmeg reaches this far on every Sun-4, in bytes.
pub const SEGMENT_BYTES: u64 = 256 << 10;

/// The virtually addressed cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Its size in bytes.
    pub bytes: u64,
    /// One line, in bytes.
    pub line_bytes: u64,
    /// What one operation flushes, in bytes: a line, or a page with help of the hardware.
    pub flush_bytes: u64,
    /// What one such operation costs, in CPU cycles.
    pub flush_cycles: u64,
}

/// A machine whose page tables live in a fixed store of groups ("pmegs").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// What people call it.
    pub name: String,
    /// Clock of the CPU, in Hz.
    pub clock_hz: u64,
    /// Hardware contexts; the kernel keeps one of them.
    pub contexts: u32,
    /// Pmegs in the store.
    pub pmegs: u32,
    /// Pmegs of the kernel, of the PROM, and the one that stands for "invalid".
    pub reserved_pmegs: u32,
    /// Size of a page, in bytes.
    pub page_bytes: u64,
    /// Groups of segments ("smegs") of a machine with three levels; 0 on the others.
    pub smegs: u32,
    /// Physical memory, in bytes.
    pub memory_bytes: u64,
    /// Time in which memory fills a line of the cache, in ns.
    pub line_fill_ns: u64,
    /// The cache; a 4/1xx has none.
    pub cache: Option<Cache>,
    /// A step of a loop that touches one byte, without the memory's part, in CPU cycles.
    pub touch_cycles: u64,
    /// Reading or writing one entry of a page table through the control space, in CPU cycles.
    pub pte_cycles: u64,
    /// Writing one entry of the segment map, in CPU cycles.
    pub segment_cycles: u64,
}

/// The description as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    kind: Spanned<String>,
    name: Spanned<String>,
    clock_hz: Spanned<u64>,
    mmu: Mmu,
    memory: Memory,
    cache: Option<CacheDescription>,
    cycles: Cycles,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mmu {
    contexts: Spanned<u32>,
    pmegs: Spanned<u32>,
    reserved_pmegs: Spanned<u32>,
    page_bytes: Spanned<u64>,
    smegs: Option<Spanned<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    bytes: Spanned<u64>,
    line_fill_ns: Spanned<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheDescription {
    bytes: Spanned<u64>,
    line_bytes: Spanned<u64>,
    flush_bytes: Spanned<u64>,
    flush_cycles: Spanned<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cycles {
    touch: Spanned<u64>,
    pte: Spanned<u64>,
    segment: Spanned<u64>,
}

impl Description {
    fn check(&self, text: &str) -> Result<(), MachineError> {
        let checks = Checks { text };
        let reason = "this reader is for kind = \"sun4\"";
        checks.that(&self.kind, self.kind.get_ref() == "sun4", reason)?;
        let is_named = !self.name.get_ref().trim().is_empty();
        checks.that(&self.name, is_named, "a machine needs a name")?;
        checks.between("clock_hz", &self.clock_hz, 1_000_000, 1_000_000_000)?;
        self.mmu.check(&checks)?;
        checks.between("memory.bytes", &self.memory.bytes, 1 << 20, 1 << 40)?;
        checks.between("memory.line_fill_ns", &self.memory.line_fill_ns, 0, 100_000)?;
        if let Some(cache) = &self.cache {
            cache.check(&checks)?;
        }
        for (name, value) in [
            ("cycles.touch", &self.cycles.touch),
            ("cycles.pte", &self.cycles.pte),
            ("cycles.segment", &self.cycles.segment),
        ] {
            checks.between(name, value, 1, 1_000_000)?;
        }
        Ok(())
    }
}

impl Mmu {
    fn check(&self, checks: &Checks<'_>) -> Result<(), MachineError> {
        let reason = "contexts must be at least 2: the kernel keeps one";
        checks.that(&self.contexts, *self.contexts.get_ref() >= 2, reason)?;
        checks.between("mmu.contexts", &self.contexts, 2, 1 << 16)?;
        checks.between("mmu.pmegs", &self.pmegs, 2, 1 << 16)?;
        let (pmegs, reserved) = (*self.pmegs.get_ref(), *self.reserved_pmegs.get_ref());
        let reason = format!("{reserved} reserved pmegs leave none of {pmegs} for processes");
        checks.that(&self.reserved_pmegs, reserved < pmegs, reason)?;
        checks.between("mmu.reserved_pmegs", &self.reserved_pmegs, 1, pmegs)?;
        let page_bytes = *self.page_bytes.get_ref();
        let fits = page_bytes.is_power_of_two() && (4096..=SEGMENT_BYTES).contains(&page_bytes);
        let reason = format!(
            "page_bytes = {page_bytes} is no power of two from 4096 to {SEGMENT_BYTES}, the reach \
             of a pmeg"
        );
        checks.that(&self.page_bytes, fits, reason)?;
        self.smegs.as_ref().map_or(Ok(()), |smegs| checks.between("mmu.smegs", smegs, 2, 1 << 16))
    }
}

impl CacheDescription {
    fn check(&self, checks: &Checks<'_>) -> Result<(), MachineError> {
        checks.between("cache.bytes", &self.bytes, 1024, 1 << 24)?;
        let bytes = *self.bytes.get_ref();
        for (name, part) in [("line_bytes", &self.line_bytes), ("flush_bytes", &self.flush_bytes)] {
            let number = *part.get_ref();
            let reason = format!("cache.{name} = {number} does not divide the cache's {bytes}");
            checks.that(part, number > 0 && bytes.is_multiple_of(number), reason)?;
        }
        checks.between("cache.flush_cycles", &self.flush_cycles, 1, 1_000_000)
    }
}

impl Machine {
    /// Reads a description in TOML.
    ///
    /// # Errors
    /// What is wrong in it, and where.
    pub fn parse(text: &str) -> Result<Self, MachineError> {
        let raw: Description = read(text)?;
        raw.check(text)?;
        Ok(Self {
            name: raw.name.into_inner(),
            clock_hz: raw.clock_hz.into_inner(),
            contexts: raw.mmu.contexts.into_inner(),
            pmegs: raw.mmu.pmegs.into_inner(),
            reserved_pmegs: raw.mmu.reserved_pmegs.into_inner(),
            page_bytes: raw.mmu.page_bytes.into_inner(),
            smegs: raw.mmu.smegs.map_or(0, Spanned::into_inner),
            memory_bytes: raw.memory.bytes.into_inner(),
            line_fill_ns: raw.memory.line_fill_ns.into_inner(),
            cache: raw.cache.map(|cache| Cache {
                bytes: cache.bytes.into_inner(),
                line_bytes: cache.line_bytes.into_inner(),
                flush_bytes: cache.flush_bytes.into_inner(),
                flush_cycles: cache.flush_cycles.into_inner(),
            }),
            touch_cycles: raw.cycles.touch.into_inner(),
            pte_cycles: raw.cycles.pte.into_inner(),
            segment_cycles: raw.cycles.segment.into_inner(),
        })
    }

    /// Entries of a pmeg.
    #[must_use]
    pub fn ptes_per_pmeg(&self) -> u32 {
        (SEGMENT_BYTES / self.page_bytes) as u32
    }

    /// How long so many cycles take, in ns, rounded to the nearest.
    #[must_use]
    pub fn cycles_ns(&self, cycles: u64) -> u64 {
        let twice_ns = 2 * u128::from(cycles) * 1_000_000_000 / u128::from(self.clock_hz);
        twice_ns.div_ceil(2) as u64
    }

    /// A step of a loop that touches one byte and misses the cache, in ns.
    #[must_use]
    pub fn touch_ns(&self) -> u64 {
        self.cycles_ns(self.touch_cycles) + self.line_fill_ns
    }

    /// Flushing a context or a segment from the cache, in CPU cycles: both go through all of it.
    #[must_use]
    pub fn flush_cycles(&self) -> u64 {
        self.cache.map_or(0, |cache| cache.bytes / cache.flush_bytes * cache.flush_cycles)
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
