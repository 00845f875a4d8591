//! Page and region counts of mappings.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::bounds::{Activity, Bounds, active_regions};
use crate::geometry::Geometry;
use crate::pages::ReadMapping;

/// Pages and regions of one or several mappings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Pages touched in the window, by the kernel's count (`Referenced`); absent if nothing was
    /// cleared. Huge pages count in full; pages of zeros, vdso and hugetlbfs are not seen.
    pub active_pages: Option<u64>,
    /// Pages in memory that the page tables map.
    pub present_pages: u64,
    /// Pages that are in swap; their locations are in the page tables too.
    pub swapped_pages: u64,
    /// Present pages that another process maps too.
    pub shared_pages: u64,
    /// Distinct regions with a page that is present or swapped.
    pub regions: u64,
    /// Distinct regions with an active page.
    pub active_regions: Option<Bounds>,
    /// Distinct regions that one entry of a higher level maps as a huge page.
    pub huge_regions: u64,
}

impl Counts {
    /// The counts of mappings, sorted by address.
    pub(crate) fn from_mappings<'a>(
        mappings: impl Iterator<Item = &'a ReadMapping> + Clone,
        geometry: &Geometry,
        is_active_known: bool,
    ) -> Self {
        let mut counts = Self::default();
        // Mappings may share a region.
        let mut regions: BTreeMap<u64, bool> = BTreeMap::new();
        for mapping in mappings.clone() {
            for (number, region) in &mapping.regions {
                counts.present_pages += u64::from(region.present);
                counts.swapped_pages += u64::from(region.swapped);
                counts.shared_pages += u64::from(region.shared);
                *regions.entry(*number).or_default() |= region.huge;
            }
        }
        counts.regions = regions.len() as u64;
        counts.huge_regions = regions.values().filter(|huge| **huge).count() as u64;
        if is_active_known {
            let activities: Vec<Activity> =
                mappings.map(|mapping| mapping.activity(geometry)).collect();
            counts.active_pages = Some(activities.iter().map(|it| it.active_pages).sum());
            counts.active_regions = Some(active_regions(&activities));
        }
        counts
    }

    /// Pages that matter: the active ones where they are known, else the present ones.
    pub fn used_pages(&self) -> u64 {
        self.active_pages.unwrap_or(self.present_pages)
    }

    /// Regions of these pages.
    pub fn used_regions(&self) -> Bounds {
        self.active_regions.unwrap_or(Bounds::exactly(self.regions))
    }

    /// Present pages in % of their regions' pages, if any. For a Sun-4 50 % was guessed.
    pub fn full_percent(&self, geometry: &Geometry) -> Option<f64> {
        percent(self.present_pages, self.regions, geometry)
    }

    /// Active pages in % of their regions' pages, least and most, if known.
    pub fn active_percent(&self, geometry: &Geometry) -> Option<(f64, f64)> {
        let (pages, Bounds { min, max }) = self.active_pages.zip(self.active_regions)?;
        percent(pages, max, geometry).zip(percent(pages, min, geometry))
    }
}

/// Pages in % of the pages of this many regions.
fn percent(pages: u64, regions: u64, geometry: &Geometry) -> Option<f64> {
    (regions > 0).then(|| 100.0 * pages as f64 / (regions * geometry.region_pages) as f64)
}

// Only counts of different processes are added, which share no region.
impl_add!(
    Counts: present_pages, swapped_pages, shared_pages, regions, huge_regions;
    if known: active_pages, active_regions
);
