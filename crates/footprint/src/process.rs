//! The figures of one process.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::count::Counts;
use crate::geometry::Geometry;
use crate::kind::Kind;
use crate::pages::ReadMapping;
use crate::saving::Saving;
use crate::system::Owner;

/// What one process maps, touches and shares.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessFootprint {
    /// Its number.
    pub pid: u32,
    /// The name of its program.
    pub name: String,
    /// Its effective user.
    pub user: u32,
    /// Pages and regions of all its mappings.
    pub counts: Counts,
    /// Pages of its page tables.
    pub tables: Tables,
    /// What it could do with less.
    pub saving: Saving,
    /// Pages and regions by kind of mapping; regions that two kinds have in common are in both.
    pub kinds: BTreeMap<Kind, Counts>,
    /// Every mapping with a page, if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mappings: Vec<MappingFootprint>,
}

/// What one mapping holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MappingFootprint {
    /// Its first address.
    pub start: u64,
    /// The address behind its last one.
    pub end: u64,
    /// Its rights as the kernel writes them, such as `r-xp`.
    pub rights: String,
    /// What it is for.
    pub kind: Kind,
    /// Its file or name; may be empty.
    pub name: String,
    /// Its pages and regions.
    pub counts: Counts,
}

/// Pages of page tables: those that follow from what is mapped, and those that the kernel counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tables {
    /// Of the lowest level (PTE): one a region, but for regions that are mapped as a huge page.
    pub lowest: u64,
    /// Of the level above (PMD), where the kernel counts it.
    pub middle: u64,
    /// Of the level above that (PUD), where the kernel counts it.
    pub upper: u64,
    /// Kept in reserve for transparent huge pages of anonymous memory, one each.
    pub reserved: u64,
    /// Bytes of page tables by the kernel's own account (`VmPTE`).
    pub counted_bytes: u64,
    /// Of the lowest level those with at least one page that another process maps too.
    pub with_shared: u64,
    /// Of these, those of which every page is mapped by another process too.
    pub all_shared: u64,
    /// Of the lowest level those that another one of the processes that were looked at has too,
    /// page for page.
    pub repeated: u64,
}

impl Tables {
    /// All that follow from what is mapped, in pages.
    #[must_use]
    pub fn needed(&self) -> u64 {
        self.lowest + self.middle + self.upper + self.reserved
    }

    /// Pages that the kernel counts and that map nothing: page tables of memory that was given
    /// back, which stay until nothing is mapped in their region any more. Below 0 only if the
    /// process changed its memory while it was read, or for page tables of hugetlbfs that several
    /// processes share.
    #[must_use]
    pub fn empty(&self, geometry: &Geometry) -> i64 {
        (self.counted_bytes / geometry.page_bytes) as i64 - self.needed() as i64
    }

    /// The tables of mappings.
    fn of(mappings: &[ReadMapping], geometry: &Geometry, levels: u32, counted_bytes: u64) -> Self {
        let mut lowest: BTreeMap<u64, Fill> = BTreeMap::new();
        let (mut middle, mut upper) = (BTreeSet::new(), BTreeSet::new());
        let mut reserved = 0;
        for mapping in mappings {
            reserved += mapping.deposits(geometry);
            // A page of hugetlbfs may be as large as all that a table of the level above maps.
            let is_above =
                mapping.hugetlb_bytes(geometry) >= geometry.region_bytes() * geometry.region_pages;
            for (number, region) in &mapping.regions {
                upper.insert(number / geometry.region_pages / geometry.region_pages);
                if !is_above {
                    middle.insert(number / geometry.region_pages);
                }
                if !region.huge {
                    let fill = lowest.entry(*number).or_default();
                    fill.entries += region.present + region.swapped;
                    fill.shared += region.shared;
                }
            }
        }
        let count = |is: &dyn Fn(&Fill) -> bool| lowest.values().filter(|it| is(it)).count() as u64;
        Self {
            lowest: lowest.len() as u64,
            middle: if levels >= 2 { middle.len() as u64 } else { 0 },
            upper: if levels >= 3 { upper.len() as u64 } else { 0 },
            reserved,
            counted_bytes,
            with_shared: count(&|fill| fill.shared > 0),
            all_shared: count(&|fill| fill.shared == fill.entries),
            repeated: 0,
        }
    }
}

/// What is in a page of page tables.
#[derive(Default)]
struct Fill {
    entries: u32,
    shared: u32,
}

impl std::ops::Add for Tables {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            lowest: self.lowest + other.lowest,
            middle: self.middle + other.middle,
            upper: self.upper + other.upper,
            reserved: self.reserved + other.reserved,
            counted_bytes: self.counted_bytes + other.counted_bytes,
            with_shared: self.with_shared + other.with_shared,
            all_shared: self.all_shared + other.all_shared,
            repeated: self.repeated + other.repeated,
        }
    }
}

/// A process whose page tables were read.
pub(crate) struct ReadProcess {
    pub(crate) owner: Owner,
    pub(crate) mappings: Vec<ReadMapping>,
    /// Levels of page tables that are in `counted_bytes`.
    pub(crate) counted_levels: u32,
    /// What the kernel counts.
    pub(crate) counted_bytes: u64,
}

impl ReadProcess {
    /// Its figures.
    pub(crate) fn figures(
        &self,
        geometry: &Geometry,
        is_active_known: bool,
        with_mappings: bool,
    ) -> ProcessFootprint {
        let of_kind = |kind: Kind| {
            let mappings = self.mappings.iter().filter(move |mapping| mapping.kind == kind);
            let counts = Counts::of(mappings, geometry, is_active_known);
            (counts.regions > 0).then_some((kind, counts))
        };
        let shown = self.mappings.iter().filter(|it| with_mappings && !it.regions.is_empty());
        ProcessFootprint {
            pid: self.owner.pid,
            name: self.owner.name.clone(),
            user: self.owner.user,
            counts: Counts::of(self.mappings.iter(), geometry, is_active_known),
            tables: Tables::of(&self.mappings, geometry, self.counted_levels, self.counted_bytes),
            saving: Saving::of(&self.mappings, geometry, is_active_known),
            kinds: Kind::ALL.into_iter().filter_map(of_kind).collect(),
            mappings: shown
                .map(|mapping| MappingFootprint::of(mapping, geometry, is_active_known))
                .collect(),
        }
    }
}

impl MappingFootprint {
    fn of(mapping: &ReadMapping, geometry: &Geometry, is_active_known: bool) -> Self {
        let line = &mapping.smaps;
        let letter = |is: bool, letter: char| if is { letter } else { '-' };
        Self {
            start: line.start,
            end: line.end,
            rights: [
                letter(line.read, 'r'),
                letter(line.write, 'w'),
                letter(line.execute, 'x'),
                if line.shared { 's' } else { 'p' },
            ]
            .iter()
            .collect(),
            kind: mapping.kind,
            name: line.name.clone(),
            counts: Counts::of(std::iter::once(mapping), geometry, is_active_known),
        }
    }
}
