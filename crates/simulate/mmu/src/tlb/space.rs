//! Address spaces: mappings, which determine sizes of pages and owners of tables.

use std::collections::BTreeMap;

use super::page_size::{FIRST_SHARED_TAG, PAGE_MASK, PageSize};

/// Number of 2 MiB chunks that are remembered as huge or not.
const REMEMBERED: usize = 256;
/// The last page that an address can have, and one.
const END: u64 = PAGE_MASK + 1;

#[derive(Clone, Debug)]
pub(crate) struct Space {
    process: u32,
    /// By their first pages; they do not overlap.
    regions: BTreeMap<u64, Region>,
    /// The heap's first byte and the first one after it.
    heap: Option<(u64, u64)>,
    /// Recent chunks of 2 MiB: number and whether huge.
    remembered: Box<[Option<(u64, bool)>; REMEMBERED]>,
}

#[derive(Clone, Copy, Debug)]
struct Region {
    /// The page after the last one.
    end: u64,
    /// The mapping, if processes that inherit it can share it.
    shareable: Option<u32>,
}

/// The owner of page tables or translations: a process or a mapping that can be shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    Process(u32),
    Mapping(u32),
}

impl Space {
    pub(crate) fn new(process: u32) -> Self {
        let remembered = Box::new([None; REMEMBERED]);
        Self { process, regions: BTreeMap::new(), heap: None, remembered }
    }

    /// The space of a child process.
    pub(crate) fn inherited(&self, child: u32) -> Self {
        Self { process: child, ..self.clone() }
    }

    /// Maps pages; returns whether others were mapped there.
    pub(crate) fn map(&mut self, first: u64, end: u64, shareable: Option<u32>) -> bool {
        let replaced = self.unmap(first, end);
        let (mut first, mut end) = (first, end);
        if shareable.is_none() {
            // The kernel merges adjacent private anonymous mappings.
            if let Some((before, region)) = self.regions.range(..first).next_back()
                && region.end == first
                && region.shareable.is_none()
            {
                first = *before;
            }
            if let Some(after) = self.regions.get(&end)
                && after.shareable.is_none()
            {
                let behind = after.end;
                self.regions.remove(&end);
                end = behind;
            }
        }
        if first < end {
            self.regions.insert(first, Region { end, shareable });
        }
        replaced
    }

    /// Unmaps pages; returns whether any were mapped.
    pub(crate) fn unmap(&mut self, first: u64, end: u64) -> bool {
        self.remembered.fill(None);
        let mut any = false;
        while let Some((start, region)) = self.regions.range(..end).next_back()
            && region.end > first
        {
            let (start, region) = (*start, *region);
            any = true;
            self.regions.remove(&start);
            if region.end > end {
                self.regions.insert(end, region);
            }
            if start < first {
                self.regions.insert(start, Region { end: first, ..region });
            }
        }
        any
    }

    /// Moves the heap's end; returns the pages that it loses.
    pub(crate) fn set_break(&mut self, address: u64) -> Option<(u64, u64)> {
        let (start, before) = match self.heap {
            Some(heap) if heap.0 <= address => heap,
            _ => (address, address),
        };
        self.heap = Some((start, address));
        // An empty heap has no page, even if it begins within one.
        let end = |address: u64| match page_range(start, address - start) {
            (first, _) if address == start => first,
            (_, end) => end,
        };
        let (old_end, new_end) = (end(before), end(address));
        if new_end > old_end {
            self.map(old_end, new_end, None);
        } else if new_end < old_end {
            self.unmap(new_end, old_end);
            return Some((new_end, old_end));
        }
        None
    }

    /// The size of a page with 2 MiB pages where mappings allow.
    #[inline]
    pub(crate) fn size(&mut self, page: u64) -> PageSize {
        let piece = page >> PageSize::Huge.shift();
        let place = piece as usize % REMEMBERED;
        let huge = match self.remembered[place] {
            Some((known, huge)) if known == piece => huge,
            _ => {
                let first = piece << PageSize::Huge.shift();
                let huge = self
                    .around(first, first + (1 << PageSize::Huge.shift()))
                    .is_some_and(|region| region.shareable.is_none());
                self.remembered[place] = Some((piece, huge));
                huge
            }
        };
        if huge { PageSize::Huge } else { PageSize::Small }
    }

    pub(crate) fn own(&self) -> Owner {
        Owner::Process(self.process)
    }

    /// The owner of the `2^shift` pages around one.
    pub(crate) fn owner(&self, page: u64, shift: u32) -> Owner {
        let first = page >> shift << shift;
        let region = self.around(first, first + (1 << shift));
        region.and_then(|region| region.shareable).map_or(self.own(), Owner::Mapping)
    }

    fn around(&self, first: u64, end: u64) -> Option<&Region> {
        let (_, region) = self.regions.range(..=first).next_back()?;
        (region.end >= end).then_some(region)
    }
}

impl Owner {
    /// The tag of translations: the process's own, or that of the mapping.
    pub(crate) fn tag(self, own: u64) -> u64 {
        match self {
            // The last tag is reserved; mappings beyond are not shared.
            Self::Mapping(id) if u64::from(id) < FIRST_SHARED_TAG - 1 => {
                FIRST_SHARED_TAG + u64::from(id)
            }
            _ => own,
        }
    }
}

/// The pages of a range of bytes: first and end.
pub(crate) fn page_range(address: u64, length_bytes: u64) -> (u64, u64) {
    let first = address >> trace::PAGE_SHIFT & PAGE_MASK;
    let offset = address & ((1 << trace::PAGE_SHIFT) - 1);
    let count = offset.saturating_add(length_bytes).div_ceil(1 << trace::PAGE_SHIFT);
    (first, (first + count).min(END))
}
