//! The functions of programs: which file has them, and what they are called there.

use std::collections::HashMap;

use crate::program_file::ProgramFile;
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

#[cfg(test)]
mod tests {
    use object::{Object, ObjectSegment, ObjectSymbol};

    use super::*;
    use crate::function_name::readable;

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
            it.name().is_ok_and(|name| readable(name) == "profile::function_name::readable")
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
        assert_eq!(names, ["profile::function_name::readable [own]"]);
    }
}
