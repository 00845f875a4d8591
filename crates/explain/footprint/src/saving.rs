//! What static linking and huge pages would save.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::bounds::Bounds;
use crate::count::Counts;
use crate::geometry::Geometry;
use crate::kind::Kind;
use crate::pages::ReadMapping;

/// What a process could do with less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Saving {
    /// Regions that hold pages of the program and its libraries and nothing else.
    pub image_regions: u64,
    /// Regions of `image_regions` with a used page; all if active pages are unknown.
    pub used_image_regions: Bounds,
    /// Used pages of the program and its libraries: the active ones where they are known.
    pub image_pages: u64,
    /// Regions that those pages would need, packed together as in one static program.
    pub packed_regions: u64,
    /// Regions within one mapping without a file, mapped page by page: possible huge pages.
    pub huge_candidates: u64,
    /// Pages present in these regions, which would need only `huge_candidates` TLB entries.
    pub huge_candidate_pages: u64,
    /// Candidates in shared memory, whose huge pages need no reserved page table.
    pub huge_shared: u64,
}

impl Saving {
    /// Regions (and so page tables) saved by packing the used pages: `used_image_regions` −
    /// ⌈`image_pages` / pages of a region⌉, at least 0. Unused pages need their regions either way.
    pub fn by_packing(&self) -> Bounds {
        let Bounds { min, max } = self.used_image_regions;
        let [min, max] = [min, max].map(|regions| regions.saturating_sub(self.packed_regions));
        Bounds { min, max }
    }

    /// Pages of memory that huge pages in place of the candidates would take in addition.
    pub fn huge_extra_pages(&self, geometry: &Geometry) -> u64 {
        (self.huge_candidates * geometry.region_pages).saturating_sub(self.huge_candidate_pages)
    }

    pub(crate) fn from_mappings(
        mappings: &[ReadMapping],
        geometry: &Geometry,
        is_active_known: bool,
    ) -> Self {
        let images = mappings.iter().filter(|mapping| mapping.kind.is_of_image());
        let images = Counts::from_mappings(images, geometry, is_active_known);
        let mut is_image: BTreeMap<u64, bool> = BTreeMap::new();
        let mut saving = Self::default();
        for mapping in mappings {
            let is_shared = mapping.kind == Kind::SharedMemory;
            let may_be_huge = is_shared
                || matches!(mapping.kind, Kind::Anonymous | Kind::Heap) && mapping.smaps.inode == 0;
            for (number, region) in &mapping.regions {
                let of_image = is_image.entry(*number).or_insert(true);
                *of_image &= mapping.kind.is_of_image();
                let start = number * geometry.region_bytes();
                let end = start + geometry.region_bytes();
                let line = &mapping.smaps;
                if may_be_huge && !region.huge && line.start <= start && end <= line.end {
                    saving.huge_candidates += 1;
                    saving.huge_candidate_pages += u64::from(region.present);
                    saving.huge_shared += u64::from(is_shared);
                }
            }
        }
        saving.image_regions = is_image.values().filter(|of_image| **of_image).count() as u64;
        // An active image page may lie in a shared region.
        let in_common = images.regions - saving.image_regions;
        saving.used_image_regions = images.active_regions.map_or(
            Bounds::exactly(saving.image_regions),
            |Bounds { min, max }| Bounds {
                min: min.saturating_sub(in_common),
                max: max.min(saving.image_regions),
            },
        );
        saving.image_pages = images.used_pages();
        // A program needs one, however long it has slept.
        let least = u64::from(saving.image_regions > 0);
        saving.packed_regions = saving.image_pages.div_ceil(geometry.region_pages).max(least);
        saving
    }
}

impl_add!(
    Saving: image_regions, used_image_regions, image_pages, packed_regions, huge_candidates,
    huge_candidate_pages, huge_shared
);
