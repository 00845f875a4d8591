//! The files that are mapped into a process, with what is needed to unwind their call stacks.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use framehop::{ExplicitModuleSectionInfo, Module};
use object::{Object, ObjectSection, ObjectSegment, ReadCache};

/// A larger file is not read.
const MOST_PROGRAM_BYTES: u64 = 4 << 30;
/// Code of the beginning of a program before it calls its first function.
const START_BYTES: u64 = 64;

/// Bytes of a section of a file that is read once for all processes.
pub(crate) type Section = Arc<[u8]>;

/// The unwinding tables of a file.
struct Tables {
    sections: ExplicitModuleSectionInfo<Section>,
    /// Where the bytes from an offset on, so many, are in memory.
    segments: Vec<(u64, u64, u64)>,
    /// Where a program, or the loader of one, begins.
    entry: u64,
}

impl Tables {
    /// The address in the file of the beginning of a part that is mapped.
    fn start(&self, mapped: &Mapped) -> Option<u64> {
        // A mapping begins at a page, a segment anywhere in it.
        let is_here = |(at, size, _): &&(u64, u64, u64)| {
            (at & !0xfff..at.saturating_add(*size)).contains(&mapped.offset)
        };
        let (at, _, address) = self.segments.iter().rfind(is_here)?;
        Some(address.wrapping_add(mapped.offset.wrapping_sub(*at)))
    }
}

/// All files, by path, each read once.
#[derive(Default)]
pub(crate) struct Files {
    known: HashMap<String, Option<Tables>>,
}

/// A file, or a part of it, in a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapped {
    pub(crate) path: Arc<str>,
    pub(crate) addresses: Range<u64>,
    pub(crate) offset: u64,
    /// Whether it may be executed.
    pub(crate) is_code: bool,
}

impl Files {
    /// What an unwinder has to know of a part of a file; `None` for what is not a file with tables.
    pub(crate) fn module(&mut self, mapped: &Mapped) -> Option<Module<Section>> {
        let path: &str = &mapped.path;
        let tables = self.known.entry(path.to_owned()).or_insert_with(|| tables(path)).as_ref()?;
        let base = mapped.addresses.start.wrapping_sub(tables.start(mapped)?);
        let name = path.to_owned();
        Some(Module::new(name, mapped.addresses.clone(), base, tables.sections.clone()))
    }

    /// Whether an address in a part of a file is where a program begins: nothing has called what is there,
    /// whatever the tables say. Those of the dynamic loader of Debian say nothing.
    pub(crate) fn begins_at(&self, mapped: &Mapped, address: u64) -> bool {
        let known = self.known.get(&*mapped.path).and_then(Option::as_ref);
        let place = known.and_then(|tables| {
            let distance = address.checked_sub(mapped.addresses.start)?;
            Some((tables.start(mapped)?.wrapping_add(distance), tables.entry))
        });
        place.is_some_and(|(at, entry)| at.wrapping_sub(entry) < START_BYTES)
    }
}

/// A program's file, to be read: none for anything but a file of a usual size. A recording that others made may
/// name anything.
fn open(path: &str) -> Option<fs::File> {
    let open = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = open.ok()?;
    let about = file.metadata().ok()?;
    (about.is_file() && about.len() <= MOST_PROGRAM_BYTES).then_some(file)
}

/// The bytes of a program's file.
pub(crate) fn program_bytes(path: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A program's file of which only what is wanted is read: most of a large one is DWARF.
pub(crate) fn program_parts(path: &str) -> Option<ReadCache<fs::File>> {
    open(path).map(ReadCache::new)
}

fn tables(path: &str) -> Option<Tables> {
    let parts = program_parts(path)?;
    let file = object::File::parse(&parts).ok()?;
    let segment = |it: object::Segment<'_, '_, _>| {
        let (offset, size_bytes) = it.file_range();
        (offset, size_bytes, it.address())
    };
    let segments = file.segments().map(segment).collect();
    let found = |name: &str| {
        let section = file.section_by_name(name)?;
        let addresses = section.address()..section.address().checked_add(section.size())?;
        Some((addresses, Section::from(section.data().ok()?)))
    };
    let [text, frames, index, got] = [".text", ".eh_frame", ".eh_frame_hdr", ".got"].map(found);
    let sections = ExplicitModuleSectionInfo {
        text_svma: text.as_ref().map(|it| it.0.clone()),
        text: text.map(|it| it.1),
        eh_frame_svma: frames.as_ref().map(|it| it.0.clone()),
        eh_frame: frames.map(|it| it.1),
        eh_frame_hdr_svma: index.as_ref().map(|it| it.0.clone()),
        eh_frame_hdr: index.map(|it| it.1),
        got_svma: got.map(|it| it.0),
        debug_frame: found(".debug_frame").map(|it| it.1),
        ..ExplicitModuleSectionInfo::default()
    };
    Some(Tables { sections, segments, entry: file.entry() })
}
