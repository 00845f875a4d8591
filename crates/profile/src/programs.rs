//! The functions of programs: which file has them, and what they are called there.

use std::collections::HashMap;

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

use crate::records::Mapping;

/// User code of unknown functions.
pub(crate) const USER_NAME: &str = "[user]";

/// What is where in programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Programs {
    /// Program and address of each function of user code.
    pub(crate) functions: Vec<(u32, u64)>,
    pub(crate) paths: Vec<String>,
    pub(crate) mappings: Vec<Mapping>,
}

impl Programs {
    /// The names of all functions: `NAME [FILE]`, `[FILE]` where the file has no symbol for it, and that
    /// of user code where no file is mapped. `content` reads a file by its path.
    pub(crate) fn names(&self, content: &dyn Fn(&str) -> Option<Vec<u8>>) -> Vec<String> {
        let mut mappings: HashMap<u32, Vec<&Mapping>> = HashMap::new();
        for mapping in &self.mappings {
            mappings.entry(mapping.program).or_default().push(mapping);
        }
        let mut files: HashMap<u32, ProgramFile> = HashMap::new();
        let name = |(program, address): &(u32, u64)| {
            let is_here = |it: &&&Mapping| (it.start..it.end).contains(address);
            // A later one replaces an earlier one.
            let found = mappings.get(program).and_then(|all| all.iter().rfind(is_here));
            let Some(mapping) = found else { return USER_NAME.to_owned() };
            let path = &self.paths[mapping.path as usize];
            let short = path.rsplit('/').next().unwrap_or(path);
            let file =
                files.entry(mapping.path).or_insert_with(|| ProgramFile::find(path, content));
            match file.symbol(address - mapping.start + mapping.offset) {
                Some(name) => format!("{name} [{short}]"),
                None => format!("[{short}]"),
            }
        };
        self.functions.iter().map(name).collect()
    }
}

/// The functions of a file.
#[derive(Default)]
struct ProgramFile {
    /// Where the bytes from an offset on, so many, are in memory.
    segments: Vec<(u64, u64, u64)>,
    /// Address, size in bytes and name, by address; a size of 0 is not known.
    symbols: Vec<(u64, u64, String)>,
}

impl ProgramFile {
    /// Reads a file, and if it has no symbols of its own, the one that Debian's debug package has for it.
    fn find(path: &str, content: &dyn Fn(&str) -> Option<Vec<u8>>) -> Self {
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
    fn symbol(&self, offset: u64) -> Option<&str> {
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
fn readable(symbol: &str) -> String {
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
    use super::*;

    fn programs() -> Programs {
        let mapping =
            |program, path, start, end, offset| Mapping { program, path, start, end, offset };
        Programs {
            functions: vec![(1, 0x7010), (1, 0x7fff), (2, 0x7010), (1, 0x9000)],
            paths: vec!["/usr/bin/test".to_owned(), "/usr/lib/other".to_owned()],
            mappings: vec![mapping(1, 1, 0x7000, 0x8000, 0), mapping(1, 0, 0x7000, 0x7800, 0x1000)],
        }
    }

    #[test]
    fn functions_without_symbols_have_the_name_of_their_file() {
        let names = programs().names(&|_| None);
        assert_eq!(names, ["[test]", "[other]", USER_NAME, USER_NAME]);
    }

    #[test]
    fn functions_of_a_program_have_their_names() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        let file = object::File::parse(&*own).unwrap();
        let is_it = |it: &object::Symbol<'_, '_>| {
            it.name().is_ok_and(|name| readable(name) == "profile::programs::readable")
        };
        let address = file.symbols().find(is_it).unwrap().address();
        let segment =
            file.segments().find(|it| (it.address()..it.address() + it.size()).contains(&address));
        let segment = segment.unwrap();
        let offset = segment.file_range().0;
        let (start, end) = (0x5000_0000, 0x5000_0000 + segment.size());
        let programs = Programs {
            functions: vec![(0, address - segment.address() + start)],
            paths: vec!["/bin/own".to_owned()],
            mappings: vec![Mapping { program: 0, path: 0, start, end, offset }],
        };
        let names = programs.names(&|path| (path == "/bin/own").then(|| own.clone()));
        assert_eq!(names, ["profile::programs::readable [own]"]);
    }

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
