//! The page tables of a guest, read through the kernel's map of all memory.

use crate::tlb::{Mapped, PageSize};

/// Where Linux maps all physical memory: with page tables of 4 levels, before version 4.20, with 5
/// (Documentation/arch/x86/x86_64/mm.rst). The guest's command line has `nokaslr`.
const DIRECT_MAPS: [u64; 3] = [0xffff_8880_0000_0000, 0xffff_8800_0000_0000, 0xff11_0000_0000_0000];
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;
const PRESENT: u64 = 1;
const LARGE: u64 = 1 << 7;
const GLOBAL: u64 = 1 << 8;
/// In CR4: page tables of 5 levels.
const FIVE_LEVELS: u64 = 1 << 12;

/// Where and how to read page tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tables {
    direct_map: u64,
    levels: u32,
}

impl Tables {
    /// Finds the page tables of a guest with these control registers, whose memory `read` reads by
    /// virtual address; `None` if no direct map is where Linux has it: its own entry in the tables
    /// must lead to the table at CR3.
    pub(crate) fn find(
        cr3: u64,
        cr4: u64,
        read: &mut impl FnMut(u64) -> Option<u64>,
    ) -> Option<Self> {
        let levels = if cr4 & FIVE_LEVELS == 0 { 4 } else { 5 };
        DIRECT_MAPS.into_iter().map(|direct_map| Self { direct_map, levels }).find(|tables| {
            let address = tables.direct_map + (cr3 & ADDRESS);
            tables.translate(cr3, address, read).is_some_and(|(found, _)| found == cr3 & ADDRESS)
        })
    }

    /// How an address is mapped; `None` if it is not.
    pub(crate) fn mapped(
        self,
        cr3: u64,
        address: u64,
        read: &mut impl FnMut(u64) -> Option<u64>,
    ) -> Option<Mapped> {
        self.translate(cr3, address, read).map(|(_, mapped)| mapped)
    }

    /// The physical address of the page of 4 KiB around an address, and how it is mapped.
    fn translate(
        self,
        cr3: u64,
        address: u64,
        read: &mut impl FnMut(u64) -> Option<u64>,
    ) -> Option<(u64, Mapped)> {
        let mut entry = cr3;
        for level in (0..self.levels).rev() {
            let shift = 12 + 9 * level;
            let slot = (entry & ADDRESS) + (address >> shift & 0x1ff) * 8;
            entry = read(self.direct_map.wrapping_add(slot))?;
            if entry & PRESENT == 0 {
                return None;
            }
            let size = match level {
                0 => PageSize::Small,
                1 if entry & LARGE != 0 => PageSize::Huge,
                2 if entry & LARGE != 0 => PageSize::Giant,
                _ => continue,
            };
            let within = (1 << shift) - 1;
            let physical = entry & ADDRESS & !within | address & within & ADDRESS;
            return Some((physical, Mapped { size, is_global: entry & GLOBAL != 0 }));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Physical memory with tables of 4 levels; the direct map has one page of 1 GiB.
    fn memory() -> HashMap<u64, u64> {
        let [top, upper, direct, middle, lowest] = [0x1000, 0x2000, 0x3000, 0x4000, 0x5000];
        HashMap::from([
            (top, upper | PRESENT),
            (top + 0x111 * 8, direct | PRESENT),
            (direct, PRESENT | LARGE | GLOBAL),
            (upper, middle | PRESENT),
            (middle, lowest | PRESENT),
            (middle + 8, 0x20_0000 | PRESENT | LARGE),
            (lowest + 7 * 8, 0x9000 | PRESENT | 1 << 63),
            (lowest + 8 * 8, 0x9000),
        ])
    }

    #[test]
    fn sizes_and_global_pages_are_those_of_the_tables() {
        let memory = memory();
        let mut read = |address: u64| memory.get(&(address - DIRECT_MAPS[0])).copied();
        let tables = Tables::find(0x1018, 0, &mut read).unwrap();
        assert_eq!(tables, Tables { direct_map: DIRECT_MAPS[0], levels: 4 });
        let mut mapped = |address| tables.mapped(0x1018, address, &mut read);
        let of = |size, is_global| Some(Mapped { size, is_global });
        assert_eq!(mapped(0x7123), of(PageSize::Small, false));
        assert_eq!(mapped(0x20_0000 + 0x12345), of(PageSize::Huge, false));
        assert_eq!(mapped(DIRECT_MAPS[0] + 77), of(PageSize::Giant, true));
        assert_eq!((mapped(0x8000), mapped(1 << 30)), (None, None));
    }

    #[test]
    fn a_map_that_leads_elsewhere_is_none() {
        let mut memory = memory();
        memory.insert(0x3000, 1 << 30 | PRESENT | LARGE);
        let mut read = |address: u64| memory.get(&address.wrapping_sub(DIRECT_MAPS[0])).copied();
        assert_eq!(Tables::find(0x1018, 0, &mut read), None);
        assert_eq!(Tables::find(0x1018, FIVE_LEVELS, &mut read), None);
    }
}
