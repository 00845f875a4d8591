//! The files that are mapped into a process, with what is needed to unwind their call stacks.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::ops::{Deref, Range};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use framehop::{ExplicitModuleSectionInfo, Module};
use object::{Object, ObjectSection, ObjectSegment};

/// A larger file is not read.
const MOST_PROGRAM_BYTES: u64 = 4 << 30;

/// Bytes of a section of a file that is read once for all processes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Section {
    file: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Deref for Section {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.file.get(self.range.clone()).unwrap_or_default()
    }
}

/// The unwinding tables of a file.
struct Tables {
    sections: ExplicitModuleSectionInfo<Section>,
    /// Where the bytes from an offset on, so many, are in memory.
    segments: Vec<(u64, u64, u64)>,
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
        // A mapping begins at a page, a segment anywhere in it.
        let is_here =
            |(at, size, _): &&(u64, u64, u64)| (at & !0xfff..at + size).contains(&mapped.offset);
        let (at, _, address) = tables.segments.iter().rfind(is_here)?;
        let start = address.wrapping_add(mapped.offset.wrapping_sub(*at));
        let base = mapped.addresses.start.wrapping_sub(start);
        let name = path.to_owned();
        Some(Module::new(name, mapped.addresses.clone(), base, tables.sections.clone()))
    }
}

/// The bytes of a program's file: none for anything but a file of a usual size. A recording that others made may
/// name anything.
pub(crate) fn program_bytes(path: &str) -> Option<Vec<u8>> {
    let open = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let mut file = open.ok()?;
    let about = file.metadata().ok()?;
    if !about.is_file() || about.len() > MOST_PROGRAM_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn tables(path: &str) -> Option<Tables> {
    let bytes = Arc::new(program_bytes(path)?);
    let file = object::File::parse(&**bytes).ok()?;
    let segment = |it: object::Segment<'_, '_>| {
        let (offset, size_bytes) = it.file_range();
        (offset, size_bytes, it.address())
    };
    let segments = file.segments().map(segment).collect();
    let found = |name: &str| {
        let section = file.section_by_name(name)?;
        let (offset, size) = section.file_range()?;
        let range =
            usize::try_from(offset).ok()?..usize::try_from(offset.checked_add(size)?).ok()?;
        let addresses = section.address()..section.address().checked_add(section.size())?;
        Some((addresses, Section { file: Arc::clone(&bytes), range }))
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
    Some(Tables { sections, segments })
}
