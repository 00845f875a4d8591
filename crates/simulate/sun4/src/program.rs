//! Programs: their memory and their steps.

use std::sync::Arc;

use super::machine::SEGMENT_BYTES;

/// What the pages of a region are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Backing {
    /// Pages of a file that no process writes; one number for each file.
    Text(u32),
    /// Pages of a file, private to each process once written.
    Data,
    /// Zero-filled pages, allocated at the first touch; private to each process.
    #[default]
    Zero,
    /// Pages that several processes write together; one number for each segment.
    Shared(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Region {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    pub(crate) backing: Backing,
}

/// The pages of a kind in a segment, a bit for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotPages {
    /// Pages that exist at the start.
    pub(crate) existing: u64,
    /// Pages that a process writes for itself.
    pub(crate) private: u64,
    /// The contents of a segment without private pages, to find equal ones.
    pub(crate) identity: Option<Vec<Region>>,
}

/// An untouched address space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    page_bytes: u64,
    /// Segments with something in them, and their pages.
    segments: Vec<u64>,
    pub(crate) pages: Vec<SlotPages>,
}

impl Layout {
    /// Fails if regions share a page.
    pub(crate) fn new(page_bytes: u64, mut regions: Vec<Region>) -> Result<Self, String> {
        regions.sort();
        let page = |address: u64| address / page_bytes;
        for pair in regions.windows(2) {
            if page(pair[0].start + pair[0].bytes.max(1) - 1) >= page(pair[1].start) {
                let (one, other) = (pair[0].start, pair[1].start);
                return Err(format!("the regions at {one:#x} and {other:#x} share a page"));
            }
        }
        let mut layout = Self { page_bytes, segments: Vec::new(), pages: Vec::new() };
        for region in &regions {
            layout.add(region);
        }
        for (slot, pages) in layout.pages.iter_mut().enumerate() {
            if pages.private != 0 {
                continue;
            }
            let start = layout.segments[slot] * SEGMENT_BYTES;
            let meets = |region: &&Region| {
                region.start < start + SEGMENT_BYTES && region.start + region.bytes > start
            };
            pages.identity = Some(regions.iter().filter(meets).copied().collect());
        }
        Ok(layout)
    }

    fn add(&mut self, region: &Region) {
        let first = region.start / self.page_bytes;
        let last = (region.start + region.bytes.max(1) - 1) / self.page_bytes;
        for page in first..=last {
            let (segment, bit) = self.place(page * self.page_bytes);
            if self.segments.last() != Some(&segment) {
                self.segments.push(segment);
                self.pages.push(SlotPages::default());
            }
            let Some(slot) = self.pages.last_mut() else { continue };
            match region.backing {
                Backing::Text(_) | Backing::Shared(_) => slot.existing |= bit,
                Backing::Data => {
                    (slot.existing, slot.private) = (slot.existing | bit, slot.private | bit)
                }
                Backing::Zero => slot.private |= bit,
            }
        }
    }

    /// Segment of an address, and the bit of its page in it.
    fn place(&self, address: u64) -> (u64, u64) {
        let page = address % SEGMENT_BYTES / self.page_bytes;
        (address / SEGMENT_BYTES, 1 << page)
    }

    /// The number of the 16 MiB region of each segment, from 0.
    pub(crate) fn regions(&self) -> Vec<u16> {
        let mut seen: Vec<u64> = self.segments.iter().map(|segment| segment / 64).collect();
        seen.dedup();
        let index = |segment: &u64| seen.partition_point(|region| *region < segment / 64) as u16;
        self.segments.iter().map(index).collect()
    }

    /// Touches at addresses, in order, as visits to segments; fails where nothing is mapped.
    pub(crate) fn path(
        &self,
        addresses: impl IntoIterator<Item = u64>,
        is_write: bool,
    ) -> Result<Path, String> {
        // Repeated touches of a page first, then neighbouring pages as one visit.
        let mut stays: Vec<Visit> = Vec::new();
        for address in addresses {
            let (segment, pages) = self.place(address);
            let found = self.segments.binary_search(&segment);
            let slot = found.map_err(|_| format!("nothing is mapped at {address:#x}"))? as u32;
            match stays.last_mut() {
                Some(stay) if (stay.slot, stay.pages) == (slot, pages) => stay.touches_a_page += 1,
                _ => stays.push(Visit { slot, pages, touches_a_page: 1 }),
            }
        }
        let mut visits: Vec<Visit> = Vec::new();
        for stay in stays {
            match visits.last_mut() {
                Some(visit)
                    if (visit.slot, visit.touches_a_page) == (stay.slot, stay.touches_a_page)
                        && visit.pages < stay.pages =>
                {
                    visit.pages |= stay.pages;
                }
                _ => visits.push(stay),
            }
        }
        let touches = visits.iter().map(Visit::touches).sum();
        Ok(Path { visits, touches, is_write })
    }
}

/// Touches of pages of one segment in ascending order, each page equally often in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) slot: u32,
    /// A bit for each page.
    pub(crate) pages: u64,
    pub(crate) touches_a_page: u64,
}

impl Visit {
    pub(crate) fn touches(&self) -> u64 {
        u64::from(self.pages.count_ones()) * self.touches_a_page
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) visits: Vec<Visit>,
    pub(crate) touches: u64,
    pub(crate) is_write: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Starts its program in the address space of its layout.
    Exec,
    /// Touches a path this many times.
    Touch(Arc<Path>, u64),
    /// Computes without memory, for this many CPU cycles.
    Compute(u64),
    /// Sleeps for this many ns, and until the next tick.
    Sleep(u64),
    /// Forks a child for this program, which copies the address space unless it begins with `Exec`.
    Fork(usize),
    /// Looks for a child that has ended; while there are children, goes back this many steps.
    Look(usize),
    /// Blocks until a child has ended.
    Wait,
    /// Goes back this many steps, this many times.
    Again(usize, u64),
    /// Calls the service of this number, and blocks until its server replies.
    Call(u32),
    /// Takes the call of this service that has waited longest; blocks until there is one.
    Serve(u32),
    /// Replies to all calls that this process has taken: their callers continue.
    Reply,
    /// Restarts all counts, and the lives of all processes.
    Begin,
    /// Ends an interaction, which began when the process last woke from a `Sleep`.
    Answer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) layout: Arc<Layout>,
    /// The stack page to which the kernel writes its registers before it gets the CPU back.
    pub(crate) resume: Option<Visit>,
    pub(crate) steps: Vec<Step>,
    /// Whether its time counts as the workload's.
    pub(crate) is_measured: bool,
}

/// A process that no other forks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) program: usize,
    pub(crate) at_ns: u64,
    /// Whether the simulation lasts until its end.
    pub(crate) is_awaited: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scene {
    pub(crate) programs: Vec<Program>,
    pub(crate) starts: Vec<Start>,
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
