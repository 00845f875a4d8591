//! Descriptions of machines: reading them, and refusing impossible ones.

use model::description::{Description, DescriptionError};

use super::array::{MOST_WAYS, Shape};
use super::machine::{MOST_ASIDS, Machine, NESTED, Tlb, shape};
use super::page_size::PageSize;

const MOST_ENTRIES: usize = 1 << 20;
const MOST_LEVELS: u32 = 4;

impl Machine {
    /// Reads a description in TOML; an error has its place and reason.
    pub fn parse(text: &str) -> Result<Self, DescriptionError> {
        let description = Description(text);
        let machine: Self = description.read()?;
        machine.check(description).map(|()| machine)
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
