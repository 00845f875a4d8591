//! Page table entries from `/proc/PID/pagemap` (`Documentation/admin-guide/mm/pagemap.rst`).

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use counters::parse::Mapping;
use sys::pagemap::{Stretch, occupied};

use crate::bounds::Activity;
use crate::geometry::Geometry;
use crate::kind::Kind;

const CHUNK_ENTRIES: u64 = 8192;
const ENTRY_BYTES: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry(u64);

impl Entry {
    const NUMBER: u64 = (1 << 55) - 1;
    const EXCLUSIVE: u64 = 1 << 56;
    /// Flag of a page of a file or of shared memory, not a private copy.
    pub(crate) const OF_FILE: u64 = 1 << 61;
    const SWAPPED: u64 = 1 << 62;
    pub(crate) const PRESENT: u64 = 1 << 63;

    pub(crate) fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    /// Whether another page table maps the page too.
    fn is_shared(self) -> bool {
        self.has(Self::PRESENT) && !self.has(Self::EXCLUSIVE)
    }

    /// The page frame number; `None` without privilege.
    pub(crate) fn page_number(self) -> Option<u64> {
        Some(self.0 & Self::NUMBER).filter(|number| self.has(Self::PRESENT) && *number != 0)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct MappedPage {
    /// Address divided by the page size.
    pub(crate) number: u64,
    pub(crate) entry: Entry,
    pub(crate) zero: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Region {
    pub(crate) present: u32,
    pub(crate) swapped: u32,
    /// Present pages also mapped by another page table.
    pub(crate) shared: u32,
    pub(crate) candidates: u32,
    /// Mapped by an entry of a higher level.
    pub(crate) huge: bool,
    pub(crate) pages: Vec<MappedPage>,
}

#[derive(Clone, Debug)]
pub(crate) struct ReadMapping {
    pub(crate) smaps: Mapping,
    pub(crate) kind: Kind,
    pub(crate) regions: BTreeMap<u64, Region>,
}

impl ReadMapping {
    /// Reads a mapping's pages; `is_idle` returns whether a frame stayed untouched.
    pub(crate) fn read(
        pagemap: &File,
        smaps: Mapping,
        kind: Kind,
        geometry: &Geometry,
        is_idle: &dyn Fn(u64) -> bool,
    ) -> io::Result<Self> {
        let addresses = smaps.start..smaps.end;
        let mut regions: BTreeMap<u64, Region> = BTreeMap::new();
        let is_scanned = each_page(pagemap, addresses, geometry, |page, is_huge| {
            let region = regions.entry(page.number / geometry.region_pages).or_default();
            region.add(page, is_idle);
            region.huge |= is_huge;
        })?;
        let mut mapping = Self { smaps, kind, regions };
        if mapping.hugetlb_bytes(geometry) >= geometry.region_bytes() {
            mapping.regions.values_mut().for_each(|region| region.huge = true);
        } else if !is_scanned {
            mapping.find_huge(geometry);
        }
        Ok(mapping)
    }

    /// A counter of the mapping in pages; 0 if the kernel lacks it.
    fn pages(&self, name: &str, geometry: &Geometry) -> u64 {
        geometry.pages_of_kb(self.smaps.values.get(name).copied().unwrap_or(0))
    }

    /// The size of a mapping's huge pages in hugetlbfs, else 0.
    pub(crate) fn hugetlb_bytes(&self, geometry: &Geometry) -> u64 {
        let is_huge = self.smaps.flags.iter().any(|flag| flag == "ht");
        if is_huge { self.pages("KernelPageSize_kb", geometry) * geometry.page_bytes } else { 0 }
    }

    /// Without a scan only the count of huge pages is known; they are fully present regions.
    fn find_huge(&mut self, geometry: &Geometry) {
        let pages: u64 = ["AnonHugePages_kb", "ShmemPmdMapped_kb", "FilePmdMapped_kb"]
            .iter()
            .map(|name| self.pages(name, geometry))
            .sum();
        let full = |region: &&mut Region| u64::from(region.present) == geometry.region_pages;
        let count = (pages / geometry.region_pages) as usize;
        self.regions.values_mut().filter(full).take(count).for_each(|region| region.huge = true);
    }

    /// Page tables reserved for splitting huge pages, which only anonymous memory has.
    pub(crate) fn deposits(&self, geometry: &Geometry) -> u64 {
        let anonymous = self.smaps.inode == 0 && self.hugetlb_bytes(geometry) == 0;
        let huge = self.regions.values().filter(|region| region.huge).count() as u64;
        if anonymous { huge } else { 0 }
    }

    /// Its number of active pages and their candidates.
    pub(crate) fn activity(&self, geometry: &Geometry) -> Activity {
        let candidates = self
            .regions
            .iter()
            .map(|(number, region)| (*number, u64::from(region.candidates)))
            .collect();
        Activity { active_pages: self.pages("Referenced_kb", geometry), candidates }
    }
}

impl Region {
    fn add(&mut self, page: MappedPage, is_idle: &dyn Fn(u64) -> bool) {
        let MappedPage { entry, zero, .. } = page;
        let is_present = entry.has(Entry::PRESENT);
        self.present += u32::from(is_present);
        self.swapped += u32::from(entry.has(Entry::SWAPPED));
        self.shared += u32::from(entry.is_shared() && !zero);
        let is_candidate = is_present && !zero && !entry.page_number().is_some_and(is_idle);
        self.candidates += u32::from(is_candidate);
        self.pages.push(page);
    }
}

/// Calls `each` for present or swapped pages, and whether a higher level maps them. The kernel's
/// scan skips unmapped ranges and shows huge pages; returns whether it is available.
pub(crate) fn each_page(
    pagemap: &File,
    addresses: Range<u64>,
    geometry: &Geometry,
    mut each: impl FnMut(MappedPage, bool),
) -> io::Result<bool> {
    let scan = occupied(pagemap, addresses.clone());
    let is_scanned = scan.is_ok();
    let stretches = scan.unwrap_or_else(|_| vec![Stretch { addresses, zeros: false, huge: false }]);
    for Stretch { addresses, zeros, huge } in stretches {
        let pages = addresses.start / geometry.page_bytes..addresses.end / geometry.page_bytes;
        read_entries(pagemap, pages, |number, entry| {
            if entry.has(Entry::PRESENT | Entry::SWAPPED) {
                each(MappedPage { number, entry, zero: zeros }, huge);
            }
        })?;
    }
    Ok(is_scanned)
}

fn read_entries(
    pagemap: &File,
    pages: Range<u64>,
    mut each: impl FnMut(u64, Entry),
) -> io::Result<()> {
    let mut buffer = vec![0; (CHUNK_ENTRIES.min(pages.end - pages.start) * ENTRY_BYTES) as usize];
    let mut first = pages.start;
    while first < pages.end {
        let wanted = ((pages.end - first) * ENTRY_BYTES).min(buffer.len() as u64) as usize;
        let count = pagemap.read_at(&mut buffer[..wanted], first * ENTRY_BYTES)?;
        let (entries, _) = buffer[..count].as_chunks::<8>();
        if entries.is_empty() {
            // The process has ended, or the address is too high.
            return Ok(());
        }
        for entry in entries {
            each(first, Entry(u64::from_ne_bytes(*entry)));
            first += 1;
        }
    }
    Ok(())
}
