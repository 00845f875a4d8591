//! The functions of a program's or library's file.

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

use crate::function_name::readable;
use crate::inlined::Inlined;

/// The functions of a file.
#[derive(Debug, Default)]
pub struct ProgramFile {
    /// Where the bytes from an offset on, so many, are in memory.
    segments: Vec<(u64, u64, u64)>,
    /// Address, size in bytes and symbol, by address; a size of 0 is not known. Large files have hundreds of
    /// thousands, of which few are made readable.
    symbols: Vec<(u64, u64, String)>,
    inlined: Option<Inlined>,
}

impl ProgramFile {
    /// Reads a file, and if it has no symbols of its own, the one that Debian's debug package has for it;
    /// `content` reads a file by its path. A file that cannot be read has no functions.
    pub fn find(path: &str, content: &dyn Fn(&str) -> Option<Vec<u8>>) -> Self {
        let Some(bytes) = content(path) else { return Self::default() };
        let Ok(file) = object::File::parse(&*bytes) else { return Self::default() };
        let segment = |it: object::Segment<'_, '_>| {
            let (offset, size_bytes) = it.file_range();
            (offset, size_bytes, it.address())
        };
        let segments = file.segments().map(segment).collect();
        let (mut symbols, mut inlined) = (symbols(file.symbols()), Inlined::of(&file));
        if symbols.is_empty() || inlined.is_none() {
            let apart = debug_file(&file, content);
            if let Some(apart) = apart.as_deref().and_then(|it| object::File::parse(it).ok()) {
                if symbols.is_empty() {
                    symbols = self::symbols(apart.symbols());
                }
                inlined = inlined.or_else(|| Inlined::of(&apart));
            }
        }
        symbols.extend(self::symbols(file.dynamic_symbols()));
        symbols.sort_by(|one, other| one.0.cmp(&other.0).then_with(|| other.1.cmp(&one.1)));
        symbols.dedup_by_key(|it| it.0);
        Self { segments, symbols, inlined }
    }

    /// The name of the function at an offset of the file.
    pub fn symbol(&self, offset: u64) -> Option<String> {
        let address = self.address(offset)?;
        let after = self.symbols.partition_point(|it| it.0 <= address);
        let (begin, size_bytes, symbol) = self.symbols.get(after.checked_sub(1)?)?;
        (*size_bytes == 0 || address - begin < *size_bytes).then(|| readable(symbol))
    }

    /// The functions that are inlined at an offset of the file, the outermost first: known where the file, or
    /// Debian's debug package for it, has DWARF.
    pub fn inlined(&self, offset: u64) -> Vec<String> {
        let place = self.inlined.as_ref().zip(self.address(offset));
        place.map_or_else(Vec::new, |(inlined, address)| inlined.at(address))
    }

    /// Where the byte at an offset is in memory, as the file has it.
    fn address(&self, offset: u64) -> Option<u64> {
        let is_here = |(at, size_bytes, _): &&(u64, u64, u64)| {
            offset.checked_sub(*at).is_some_and(|distance| distance < *size_bytes)
        };
        let (at, _, address) = self.segments.iter().find(is_here)?;
        Some((offset - at).wrapping_add(*address))
    }
}

/// The file that Debian's debug package has for a file.
fn debug_file(
    file: &object::File<'_>,
    content: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let Ok(Some([first, rest @ ..])) = file.build_id() else { return None };
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    content(&format!("/usr/lib/debug/.build-id/{first:02x}/{rest}.debug"))
}

fn symbols<'a>(all: impl Iterator<Item = impl ObjectSymbol<'a>>) -> Vec<(u64, u64, String)> {
    let functions = all.filter(|it| it.kind() == SymbolKind::Text && it.is_definition());
    let named =
        functions.filter_map(|it| Some((it.address(), it.size(), it.name().ok()?.to_owned())));
    named.collect()
}
