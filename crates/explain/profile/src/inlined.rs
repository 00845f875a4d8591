//! Functions that the compiler inlined, from the DWARF of a file.

use std::fmt;
use std::sync::Arc;

use gimli::{Dwarf, EndianArcSlice, RunTimeEndian, SectionId};
use object::{Object, ObjectSection};

use crate::function_name::readable;

type Section = EndianArcSlice<RunTimeEndian>;

/// More are not looked up in one place.
const MOST_INLINED: usize = 64;

/// Which functions are inlined where in a file.
pub(crate) struct Inlined {
    units: addr2line::Context<Section>,
}

impl fmt::Debug for Inlined {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Inlined")
    }
}

impl Inlined {
    /// Reads a file's DWARF; `None` without one. Of damaged one nothing is known.
    pub(crate) fn of(file: &object::File<'_>) -> Option<Self> {
        file.section_by_name(SectionId::DebugInfo.name())?;
        let endian = match file.is_little_endian() {
            true => RunTimeEndian::Little,
            false => RunTimeEndian::Big,
        };
        let section = |id: SectionId| {
            let bytes = file.section_by_name(id.name()).and_then(|it| it.uncompressed_data().ok());
            let bytes: Arc<[u8]> = Arc::from(&*bytes.unwrap_or_default());
            Ok::<_, gimli::Error>(EndianArcSlice::new(bytes, endian))
        };
        let units = addr2line::Context::from_dwarf(Dwarf::load(section).ok()?).ok()?;
        Some(Self { units })
    }

    /// The functions that are inlined at an address of the file, the outermost first; that into which they
    /// are is not among them.
    pub(crate) fn at(&self, address: u64) -> Vec<String> {
        // What is kept in files apart (`.dwo`) is not read.
        let found = self.units.find_frames(address).skip_all_loads();
        let Ok(mut frames) = found else { return Vec::new() };
        let mut names = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let name = frame
                .function
                .as_ref()
                .and_then(|it| it.raw_name().ok().map(|name| readable(&name)));
            names.push(name.unwrap_or_default());
            if names.len() > MOST_INLINED {
                break;
            }
        }
        // The last one is the function itself.
        names.pop();
        names.retain(|name| !name.is_empty());
        names.reverse();
        names
    }
}
