//! Sizes of pages and of page tables.

use serde::Serialize;

/// On every 64-bit architecture of Linux.
const ENTRY_BYTES: u64 = 8;

/// Most levels in `VmPTE`: `mm_inc_nr_ptes`, `mm_inc_nr_pmds` and `mm_inc_nr_puds`.
const COUNTED_LEVELS_MAX: u32 = 3;

/// The layout of this system's page tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Geometry {
    /// Bytes of a page, and of a page of page tables.
    pub page_bytes: u64,
    /// Entries of a page of page tables; pages of a region.
    pub region_pages: u64,
    /// Levels of page tables that `VmPTE` counts: all but the topmost one, and three at most.
    pub counted_levels: u32,
}

impl Geometry {
    /// By page size and the highest mapped address of a process (the stack is at the end).
    pub fn new(page_bytes: u64, highest_address: u64) -> Self {
        let page_bytes = page_bytes.max(2 * ENTRY_BYTES);
        let region_pages = page_bytes / ENTRY_BYTES;
        let address_bits = u64::BITS - highest_address.leading_zeros();
        let mut levels = 1;
        while page_bytes.ilog2() + levels * region_pages.ilog2() < address_bits {
            levels += 1;
        }
        let counted_levels = (levels - 1).clamp(1, COUNTED_LEVELS_MAX);
        Self { page_bytes, region_pages, counted_levels }
    }

    /// Bytes of a region: what one page of page tables maps.
    pub fn region_bytes(&self) -> u64 {
        self.page_bytes * self.region_pages
    }

    pub(crate) fn region_of(&self, address: u64) -> u64 {
        address / self.region_bytes()
    }

    /// Whole pages of kB (1024 bytes), as the kernel prints sizes.
    pub(crate) fn pages_of_kb(&self, kb: u64) -> u64 {
        kb.saturating_mul(1024) / self.page_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_follow_from_pages_and_addresses() {
        // x86-64, 4 KiB: four levels, all but the first counted.
        let x86 = Geometry::new(4096, 0x7fff_ffff_f000);
        assert_eq!((x86.region_pages, x86.region_bytes(), x86.counted_levels), (512, 2 << 20, 3));
        // arm64 with pages of 16 KiB and 47 bits, of 64 KiB and 48 bits, of 4 KiB and 39 bits.
        assert_eq!(Geometry::new(16384, 0x7fff_ffff_0000).counted_levels, 2);
        assert_eq!(Geometry::new(16384, 0x7fff_ffff_0000).region_bytes(), 32 << 20);
        assert_eq!(Geometry::new(65536, 0xffff_ffff_0000).counted_levels, 2);
        assert_eq!(Geometry::new(65536, 0xffff_ffff_0000).region_bytes(), 512 << 20);
        assert_eq!(Geometry::new(4096, 0x7f_ffff_f000).counted_levels, 2);
        // Five levels on x86-64: the uppermost two are not counted.
        assert_eq!(Geometry::new(4096, 0xff_ffff_ffff_f000).counted_levels, 3);
    }

    #[test]
    fn impossible_sizes_do_no_harm() {
        assert_eq!(Geometry::new(0, 0).counted_levels, 1);
        assert_eq!(Geometry::new(4096, 0).pages_of_kb(u64::MAX), u64::MAX / 4096);
    }
}
