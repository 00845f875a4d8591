//! The layout of a program's address space.
//!
//! As in an executable of SunOS 4: text from 0x2000, data after it, then the heap; libraries and
//! shared segments below the linker, each below the one before; the stack below 0xf8000000.
//! Mappings begin at multiples of 128 KiB, for equal lines of a virtually addressed cache.

use std::ops::Range;
use std::sync::Arc;

use crate::machine::SEGMENT_BYTES;
use crate::program::{Backing, Layout, Path, Program, Region, Step};
use crate::setup::Setup;
use crate::system::Libraries;

/// File number of the linker's text.
const LINKER_FILE: u32 = 1;
/// The first file number for workloads.
pub(super) const FIRST_FILE: u32 = 2;

const TEXT: u64 = 0x2000;
const LINKER: u64 = 0xf7fc_0000;
const LINKER_BYTES: u64 = 64 << 10;
/// Pages that the linker uses itself.
const LINKER_PAGES: u64 = 12;
const STACK_END: u64 = 0xf800_0000;
/// The hole of the two-level machines: nothing is mapped from here on...
pub(super) const LOWER_END: u64 = 0x2000_0000;
/// ...to here.
pub(super) const UPPER: u64 = 0xe000_0000;
const PART: u64 = 8192;
/// Where mappings begin.
const MAPPING: u64 = 128 << 10;

/// A library as a program sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Library {
    /// File number of its text.
    pub(super) file: u32,
    pub(super) text_bytes: u64,
    pub(super) data_bytes: u64,
    /// Used bytes of its text: scattered over it, or linked into the program.
    pub(super) used_bytes: u64,
}

/// A program's parts and their sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// File number of its text.
    pub(super) file: u32,
    pub(super) text_bytes: u64,
    pub(super) data_bytes: u64,
    pub(super) heap_bytes: u64,
    pub(super) heap_backing: Backing,
    pub(super) stack_bytes: u64,
    /// In the order of their mappings.
    pub(super) libraries: Vec<Library>,
    /// Numbers and bytes of shared segments.
    pub(super) segments: Vec<(u32, u64)>,
}

#[derive(Clone, Debug)]
pub(super) struct Image {
    pub(super) layout: Arc<Layout>,
    pub(super) page_bytes: u64,
    pub(super) text: Range<u64>,
    /// Used pages of libraries.
    pub(super) library: Vec<u64>,
    /// Data of program and libraries.
    pub(super) data: Vec<Range<u64>>,
    pub(super) heap: Range<u64>,
    pub(super) stack: Range<u64>,
    pub(super) segments: Vec<Range<u64>>,
    /// The linker's address.
    linker: Option<u64>,
}

impl Image {
    /// Fails for a program that is larger than the address space.
    pub(super) fn new(setup: &Setup, shape: &Shape) -> Result<Self, String> {
        Self::lay_out(setup.machine.mmu.page_bytes, setup.system.libraries, shape)
    }

    /// Lays out a program in pages of this size. Fails for one that is larger than the address
    /// space.
    pub(super) fn lay_out(
        page_bytes: u64,
        libraries: Libraries,
        shape: &Shape,
    ) -> Result<Self, String> {
        let part_bytes = PART.max(page_bytes);
        let is_linked = libraries == Libraries::Static;
        let of_libraries = |bytes: fn(&Library) -> u64| -> u64 {
            let whole = |library| bytes(library).next_multiple_of(part_bytes);
            if is_linked { shape.libraries.iter().map(whole).sum() } else { 0 }
        };
        let behind = |part: &Range<u64>, bytes: u64| {
            let start = part.end.next_multiple_of(part_bytes);
            start..start + bytes
        };
        let text = TEXT..TEXT + shape.text_bytes;
        let linked = behind(&text, of_libraries(|library| library.used_bytes));
        let data = behind(&linked, shape.data_bytes + of_libraries(|library| library.data_bytes));
        let heap = behind(&data, shape.heap_bytes);
        let stack = STACK_END - shape.stack_bytes.next_multiple_of(part_bytes)..STACK_END;
        let mut regions = vec![
            region(&(text.start..linked.end), Backing::Text(shape.file)),
            region(&data, Backing::Data),
            region(&heap, shape.heap_backing),
            region(&stack, Backing::Zero),
        ];
        let mut image = Self {
            layout: Arc::default(),
            page_bytes,
            text,
            library: linked.step_by(page_bytes as usize).collect(),
            data: vec![data],
            heap,
            stack,
            segments: Vec::new(),
            linker: None,
        };
        // With pages as large as a segment the stack has the last one for itself.
        let top = if page_bytes < SEGMENT_BYTES { LINKER } else { LINKER - SEGMENT_BYTES };
        let mut free_end = top;
        if !is_linked && !shape.libraries.is_empty() {
            image.linker = Some(top);
            regions.push(region(&(top..top + LINKER_BYTES), Backing::Text(LINKER_FILE)));
            for library in &shape.libraries {
                image.map(library, &mut free_end, &mut regions);
            }
        }
        for (number, bytes) in &shape.segments {
            let segment = below(&mut free_end, *bytes, page_bytes);
            regions.push(region(&segment, Backing::Shared(*number)));
            image.segments.push(segment);
        }
        image.check(top, free_end)?;
        regions.retain(|region| region.bytes > 0);
        image.layout = Arc::new(Layout::new(page_bytes, regions)?);
        Ok(image)
    }

    /// Maps a library with its used pages.
    fn map(&mut self, library: &Library, free_end: &mut u64, regions: &mut Vec<Region>) {
        let text_bytes = library.text_bytes.next_multiple_of(PART.max(self.page_bytes));
        let mapped = below(free_end, text_bytes + library.data_bytes, self.page_bytes);
        let text = mapped.start..mapped.start + library.text_bytes;
        let data = mapped.start + text_bytes..mapped.end;
        regions.push(region(&text, Backing::Text(library.file)));
        regions.push(region(&data, Backing::Data));
        let pages = library.text_bytes.div_ceil(self.page_bytes);
        let used = library.used_bytes.div_ceil(self.page_bytes).min(pages);
        let at = |page: u64| text.start + page * pages / used.max(1) * self.page_bytes;
        self.library.extend((0..used).map(at));
        self.data.push(data);
    }

    fn check(&self, top: u64, free_end: u64) -> Result<(), String> {
        if self.heap.end > LOWER_END {
            return Err(format!(
                "text, data and heap of {} bytes do not fit into the lower half of a Sun-4's \
                 address space: at most {}",
                self.heap.end - TEXT,
                LOWER_END - TEXT
            ));
        }
        let (mapped_bytes, most_bytes) = (top - free_end, top - UPPER);
        let stack_from = top + LINKER_BYTES.max(self.page_bytes);
        if mapped_bytes > most_bytes || self.stack.start < stack_from {
            return Err(format!(
                "{mapped_bytes} bytes of libraries and segments and {} of stack do not fit into \
                 the upper half of a Sun-4's address space: at most {most_bytes} and {}",
                self.stack.end - self.stack.start,
                STACK_END - stack_from
            ));
        }
        Ok(())
    }

    /// Touches of addresses in order, repeated.
    pub(super) fn touch(
        &self,
        addresses: impl IntoIterator<Item = u64>,
        is_write: bool,
        times: u64,
    ) -> Step {
        // Only addresses of the image's own parts are requested.
        let path: Path = self.layout.path(addresses, is_write).unwrap_or_default();
        Step::Touch(Arc::new(path), times)
    }

    /// What a program does before its own code: exec, linking, relocation of data.
    pub(super) fn begin(&self) -> Vec<Step> {
        let mut steps = vec![Step::Exec, self.touch([self.text.start], false, 1), self.link()];
        steps.push(self.touch(self.library.iter().copied(), false, 1));
        let data = self.data.iter().flat_map(|data| self.pages(data));
        steps.push(self.touch(data.chain([self.stack.end - 1]), true, 1));
        steps
    }

    /// The linker's touches of its own pages.
    pub(super) fn link(&self) -> Step {
        let pages = |linker| (0..LINKER_PAGES).map(move |page| linker + page * 4096);
        self.touch(self.linker.into_iter().flat_map(pages), false, 1)
    }

    /// A program that touches its stack whenever it gets the CPU back.
    pub(super) fn program(&self, name: &str, is_measured: bool, steps: Vec<Step>) -> Program {
        let stack = self.layout.path([self.stack.end - 1], true);
        let resume = stack.ok().and_then(|path| path.visits.first().copied());
        let layout = Arc::clone(&self.layout);
        Program { name: name.to_owned(), layout, resume, steps, is_measured }
    }

    /// The first byte of each page of a part.
    pub(super) fn pages(&self, part: &Range<u64>) -> impl Iterator<Item = u64> + use<> {
        part.clone().step_by(self.page_bytes as usize)
    }
}

fn region(part: &Range<u64>, backing: Backing) -> Region {
    Region { start: part.start, bytes: part.end - part.start, backing }
}

/// The next mapping below all others.
fn below(free_end: &mut u64, bytes: u64, page_bytes: u64) -> Range<u64> {
    let apart = MAPPING.max(page_bytes);
    let start = free_end.saturating_sub(bytes) / apart * apart;
    *free_end = start;
    start..start + bytes
}
