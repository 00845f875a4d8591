//! Descriptions of Sun-4s.

use model::description::{Description, DescriptionError};
use serde::Deserialize;

/// The reach of a pmeg on every Sun-4, in bytes.
pub const SEGMENT_BYTES: u64 = 256 << 10;

/// A machine whose page tables are a fixed store of groups ("pmegs").
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    kind: String,
    /// Its common name.
    pub name: String,
    /// Clock of the CPU, in Hz.
    pub clock_hz: u64,
    /// Contexts and page tables.
    pub mmu: Mmu,
    /// Physical memory.
    pub memory: Memory,
    /// The cache; a 4/1xx has none.
    pub cache: Option<Cache>,
    /// The cost of its steps.
    pub cycles: Cycles,
}

/// Contexts and page tables.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mmu {
    /// Hardware contexts; the kernel keeps one of them.
    pub contexts: u32,
    /// Pmegs in the store.
    pub pmegs: u32,
    /// Pmegs of the kernel, of the PROM, and the one that stands for "invalid".
    pub reserved_pmegs: u32,
    /// Size of a page, in bytes.
    pub page_bytes: u64,
    /// Groups of segments ("smegs") of a machine with three levels; 0 on the others.
    #[serde(default)]
    pub smegs: u32,
}

/// Physical memory.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Its size in bytes.
    pub bytes: u64,
    /// Time in which it fills a line of the cache, in ns.
    pub line_fill_ns: u64,
}

/// The virtually addressed cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Its size in bytes.
    pub bytes: u64,
    /// One line, in bytes.
    pub line_bytes: u64,
    /// Bytes that one operation flushes: a line, or a page with help of the hardware.
    pub flush_bytes: u64,
    /// Cost of one such operation, in CPU cycles.
    pub flush_cycles: u64,
}

/// Costs of the hardware's steps, in CPU cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cycles {
    /// A step of a loop that touches one byte, without the memory's part.
    pub touch: u64,
    /// Reading or writing one entry of a page table through the control space.
    pub pte: u64,
    /// Writing one entry of the segment map.
    pub segment: u64,
}

impl Machine {
    /// Reads a description in TOML; an error has its place and reason.
    pub fn parse(text: &str) -> Result<Self, DescriptionError> {
        let description = Description(text);
        let machine: Self = description.read()?;
        machine.check(description).map(|()| machine)
    }

    fn check(&self, description: Description<'_>) -> Result<(), DescriptionError> {
        let is_sun4 = self.kind == "sun4";
        description.that("kind", is_sun4, "this reader is for kind = \"sun4\"")?;
        description.that("name", !self.name.trim().is_empty(), "a machine needs a name")?;
        description.between("clock_hz", self.clock_hz, 1_000_000, 1_000_000_000)?;
        let Mmu { contexts, pmegs, reserved_pmegs, page_bytes, smegs } = self.mmu;
        let reason = "contexts must be at least 2: the kernel keeps one";
        description.that("mmu.contexts", contexts >= 2, reason)?;
        description.between("mmu.contexts", contexts, 2, 1 << 16)?;
        description.between("mmu.pmegs", pmegs, 2, 1 << 16)?;
        let reason = format!("{reserved_pmegs} reserved pmegs leave none of {pmegs} for processes");
        description.that("mmu.reserved_pmegs", reserved_pmegs < pmegs, reason)?;
        description.between("mmu.reserved_pmegs", reserved_pmegs, 1, pmegs)?;
        let fits = page_bytes.is_power_of_two() && (4096..=SEGMENT_BYTES).contains(&page_bytes);
        let reason = format!(
            "page_bytes = {page_bytes} is not a power of two from 4096 to {SEGMENT_BYTES}, the span \
             of a pmeg"
        );
        description.that("mmu.page_bytes", fits, reason)?;
        if smegs > 0 {
            description.between("mmu.smegs", smegs, 2, 1 << 16)?;
        }
        description.between("memory.bytes", self.memory.bytes, 1 << 20, 1 << 40)?;
        description.between("memory.line_fill_ns", self.memory.line_fill_ns, 0, 100_000)?;
        if let Some(Cache { bytes, line_bytes, flush_bytes, flush_cycles }) = self.cache {
            description.between("cache.bytes", bytes, 1024, 1 << 24)?;
            let parts = [("cache.line_bytes", line_bytes), ("cache.flush_bytes", flush_bytes)];
            for (path, part) in parts {
                let reason = format!("{path} = {part} does not divide the cache's {bytes}");
                description.that(path, part > 0 && bytes.is_multiple_of(part), reason)?;
            }
            description.between("cache.flush_cycles", flush_cycles, 1, 1_000_000)?;
        }
        description.between("cycles.touch", self.cycles.touch, 1, 1_000_000)?;
        description.between("cycles.pte", self.cycles.pte, 1, 1_000_000)?;
        description.between("cycles.segment", self.cycles.segment, 1, 1_000_000)
    }

    /// Entries of a pmeg.
    pub(crate) fn ptes_per_pmeg(&self) -> u32 {
        (SEGMENT_BYTES / self.mmu.page_bytes) as u32
    }

    /// Cycles in ns, rounded to the nearest.
    pub(crate) fn cycles_ns(&self, cycles: u64) -> u64 {
        let twice_ns = 2 * u128::from(cycles) * 1_000_000_000 / u128::from(self.clock_hz);
        twice_ns.div_ceil(2) as u64
    }

    /// A step of a loop that touches one byte and misses the cache, in ns.
    pub(crate) fn touch_ns(&self) -> u64 {
        self.cycles_ns(self.cycles.touch) + self.memory.line_fill_ns
    }

    /// Cost in CPU cycles of flushing a context or a segment: both scan the whole cache.
    pub(crate) fn flush_cycles(&self) -> u64 {
        self.cache.map_or(0, |cache| cache.bytes / cache.flush_bytes * cache.flush_cycles)
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
