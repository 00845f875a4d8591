//! The functions of a program's or library's file.

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

/// The functions of a file.
#[derive(Debug, Default)]
pub struct ProgramFile {
    /// Where the bytes from an offset on, so many, are in memory.
    segments: Vec<(u64, u64, u64)>,
    /// Address, size in bytes and name, by address; a size of 0 is not known.
    symbols: Vec<(u64, u64, String)>,
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
        let mut symbols = symbols(file.symbols());
        if symbols.is_empty() {
            symbols = debug_symbols(&file, content);
        }
        symbols.extend(self::symbols(file.dynamic_symbols()));
        symbols.sort_by(|one, other| one.0.cmp(&other.0).then_with(|| other.1.cmp(&one.1)));
        symbols.dedup_by_key(|it| it.0);
        Self { segments, symbols }
    }

    /// The name of the function at an offset of the file.
    pub fn symbol(&self, offset: u64) -> Option<&str> {
        let is_here = |(at, size_bytes, _): &&(u64, u64, u64)| {
            offset.checked_sub(*at).is_some_and(|distance| distance < *size_bytes)
        };
        let (at, _, address) = self.segments.iter().find(is_here)?;
        let address = offset - at + address;
        let after = self.symbols.partition_point(|it| it.0 <= address);
        let (begin, size_bytes, name) = self.symbols.get(after.checked_sub(1)?)?;
        (*size_bytes == 0 || address - begin < *size_bytes).then_some(name)
    }
}

fn debug_symbols(
    file: &object::File<'_>,
    content: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> Vec<(u64, u64, String)> {
    let Ok(Some([first, rest @ ..])) = file.build_id() else { return Vec::new() };
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = format!("/usr/lib/debug/.build-id/{first:02x}/{rest}.debug");
    let bytes = content(&path);
    let file = bytes.as_deref().and_then(|bytes| object::File::parse(bytes).ok());
    file.map(|file| symbols(file.symbols())).unwrap_or_default()
}

fn symbols<'a>(all: impl Iterator<Item = impl ObjectSymbol<'a>>) -> Vec<(u64, u64, String)> {
    let functions = all.filter(|it| it.kind() == SymbolKind::Text && it.is_definition());
    let named =
        functions.filter_map(|it| Some((it.address(), it.size(), readable(it.name().ok()?))));
    named.collect()
}

/// The name in the source of the function with this symbol, without its arguments.
pub(crate) fn readable(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let name = cpp_demangle::Symbol::new(symbol)
        .ok()
        .and_then(|it| it.demangle_with_options(&options).ok());
    name.unwrap_or_else(|| symbol.to_owned())
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn names_are_those_of_the_source() {
        for (symbol, name) in [
            ("main", "main"),
            ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                "std::vector<int, std::allocator<int> >::push_back",
            ),
            ("_Znot", "_Znot"),
        ] {
            assert_eq!(readable(symbol), name);
        }
    }
}
