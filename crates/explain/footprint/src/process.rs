//! The figures of one process.

use std::collections::{BTreeMap, BTreeSet};

use counters::parse::TaskStatus;
use serde::Serialize;

use crate::count::Counts;
use crate::geometry::Geometry;
use crate::kind::Kind;
use crate::pages::ReadMapping;
use crate::saving::Saving;

/// How to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Clear the referenced bits first, so that pages that are active can be distinguished from others.
    pub clear: bool,
    /// Keep the figures of every mapping.
    pub mappings: bool,
}

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
    /// Every mapping with a page, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mappings: Vec<MappingFootprint>,
}

/// What one mapping holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MappingFootprint {
    /// Its first address.
    pub start: u64,
    /// The first address after it.
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
    /// Tables of the lowest level (PTE): one per region, except regions that are mapped as a huge
    /// page.
    pub lowest: u64,
    /// Tables of the second level (PMD), where the kernel counts them.
    pub middle: u64,
    /// Tables of the third level (PUD), where the kernel counts them.
    pub upper: u64,
    /// Kept in reserve for transparent huge pages of anonymous memory, one each.
    pub reserved: u64,
    /// Bytes of page tables by the kernel's own account (`VmPTE`).
    pub counted_bytes: u64,
    /// Tables of the lowest level with at least one page that another process maps too.
    pub with_shared: u64,
    /// Tables of the lowest level of which every page is mapped by another process too.
    pub all_shared: u64,
    /// Tables of the lowest level that another measured process has identically.
    pub repeated: u64,
}

impl Tables {
    /// All that follow from what is mapped, in pages.
    pub fn needed(&self) -> u64 {
        self.lowest + self.middle + self.upper + self.reserved
    }

    /// Counted pages that map nothing, left by freed memory. Negative only if the process changed
    /// meanwhile or shares hugetlbfs page tables.
    pub fn empty(&self, geometry: &Geometry) -> i64 {
        (self.counted_bytes / geometry.page_bytes) as i64 - self.needed() as i64
    }

    fn from_mappings(mappings: &[ReadMapping], geometry: &Geometry, status: &TaskStatus) -> Self {
        // Before Linux 4.15 `VmPMD` was separate and the upper level not counted.
        let levels = geometry.counted_levels.min(if status.vm_pmd_kb.is_some() { 2 } else { 3 });
        let counted_kb =
            status.vm_pte_kb.unwrap_or(0).saturating_add(status.vm_pmd_kb.unwrap_or(0));
        // Entries of each table, and how many are shared.
        let mut lowest: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
        let (mut middle, mut upper) = (BTreeSet::new(), BTreeSet::new());
        let mut reserved = 0;
        for mapping in mappings {
            reserved += mapping.deposits(geometry);
            // Such a page of hugetlbfs needs no table of the middle level.
            let is_above =
                mapping.hugetlb_bytes(geometry) >= geometry.region_bytes() * geometry.region_pages;
            for (number, region) in &mapping.regions {
                upper.insert(number / geometry.region_pages / geometry.region_pages);
                if !is_above {
                    middle.insert(number / geometry.region_pages);
                }
                if !region.huge {
                    let (entries, shared) = lowest.entry(*number).or_default();
                    *entries += region.present + region.swapped;
                    *shared += region.shared;
                }
            }
        }
        let count = |is: fn(&&(u32, u32)) -> bool| lowest.values().filter(is).count() as u64;
        Self {
            lowest: lowest.len() as u64,
            middle: if levels >= 2 { middle.len() as u64 } else { 0 },
            upper: if levels >= 3 { upper.len() as u64 } else { 0 },
            reserved,
            counted_bytes: counted_kb.saturating_mul(1024),
            with_shared: count(|(_, shared)| *shared > 0),
            all_shared: count(|(entries, shared)| shared == entries),
            repeated: 0,
        }
    }
}

impl_add!(
    Tables: lowest, middle, upper, reserved, counted_bytes, with_shared, all_shared, repeated
);

impl ProcessFootprint {
    pub(crate) fn new(
        pid: u32,
        status: TaskStatus,
        mappings: &[ReadMapping],
        geometry: &Geometry,
        options: Options,
    ) -> Self {
        let of_kind = |kind| {
            let mappings = mappings.iter().filter(move |mapping| mapping.kind == kind);
            (kind, Counts::from_mappings(mappings, geometry, options.clear))
        };
        let kinds: BTreeSet<Kind> = mappings.iter().map(|mapping| mapping.kind).collect();
        let shown = mappings.iter().filter(|it| options.mappings && !it.regions.is_empty());
        Self {
            pid,
            counts: Counts::from_mappings(mappings.iter(), geometry, options.clear),
            tables: Tables::from_mappings(mappings, geometry, &status),
            saving: Saving::from_mappings(mappings, geometry, options.clear),
            kinds: kinds.into_iter().map(of_kind).filter(|(_, it)| it.regions > 0).collect(),
            mappings: shown.map(|it| MappingFootprint::new(it, geometry, options.clear)).collect(),
            name: status.name,
            user: status.user,
        }
    }
}

impl MappingFootprint {
    fn new(mapping: &ReadMapping, geometry: &Geometry, is_active_known: bool) -> Self {
        let line = &mapping.smaps;
        let letter = |is: bool, letter| if is { letter } else { '-' };
        Self {
            start: line.start,
            end: line.end,
            rights: String::from_iter([
                letter(line.read, 'r'),
                letter(line.write, 'w'),
                letter(line.execute, 'x'),
                if line.shared { 's' } else { 'p' },
            ]),
            kind: mapping.kind,
            name: line.name.clone(),
            counts: Counts::from_mappings(std::iter::once(mapping), geometry, is_active_known),
        }
    }
}
