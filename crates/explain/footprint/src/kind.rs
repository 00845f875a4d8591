//! What a mapping is for.

use std::collections::BTreeSet;

use counters::parse::Mapping;
use serde::Serialize;

/// What a mapping is for, in display order. An *image* is a file mapped for execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Pages of the program's file that were never written: code and constants.
    ProgramText,
    /// The part of the program's file that was or may be written, and the zeroed memory after it.
    ProgramData,
    /// Code and constants of libraries.
    LibraryText,
    /// Data of libraries.
    LibraryData,
    /// The heap that grows by `brk`.
    Heap,
    /// The stack of the first thread; those of others are anonymous memory.
    Stack,
    /// Private memory without a file.
    Anonymous,
    /// `MAP_SHARED` without a file, System V segments, memory files, files in `/dev/shm`.
    SharedMemory,
    /// Any other file.
    File,
    /// What the kernel puts into every process: vdso, vvar, uprobes.
    Kernel,
}

impl Kind {
    /// The kind in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::ProgramText => "program text",
            Self::ProgramData => "program data",
            Self::LibraryText => "library text",
            Self::LibraryData => "library data",
            Self::Heap => "heap",
            Self::Stack => "stack",
            Self::Anonymous => "anonymous",
            Self::SharedMemory => "shared memory",
            Self::File => "file",
            Self::Kernel => "vdso",
        }
    }

    pub(crate) fn is_of_image(self) -> bool {
        matches!(
            self,
            Self::ProgramText | Self::ProgramData | Self::LibraryText | Self::LibraryData
        )
    }
}

/// The kinds of a process's mappings. Without the path `program`, the program counts as a library.
pub(crate) fn kinds(mappings: &[Mapping], program: Option<&str>) -> Vec<Kind> {
    let images: BTreeSet<&str> = mappings
        .iter()
        .filter(|mapping| mapping.execute && mapping.inode != 0)
        .map(|mapping| mapping.name.as_str())
        .collect();
    let mut kinds: Vec<Kind> = Vec::with_capacity(mappings.len());
    for (index, mapping) in mappings.iter().enumerate() {
        let before = index.checked_sub(1).map(|index| (&mappings[index], kinds[index]));
        let kind = match (mapping.name.as_str(), before) {
            ("[heap]", _) => Kind::Heap,
            (name, _) if name.starts_with("[stack") => Kind::Stack,
            // An image's zeroed memory directly follows its data and has no name.
            ("", Some((before, kind @ (Kind::ProgramData | Kind::LibraryData))))
                if before.end == mapping.start && before.write && mapping.write =>
            {
                kind
            }
            (name, _) if name.is_empty() || name.starts_with("[anon") => Kind::Anonymous,
            (name, _) if name.starts_with('[') => Kind::Kernel,
            (name, _) if images.contains(name) => of_image(mapping, Some(name) == program),
            (name, _) if is_memory(name) => Kind::SharedMemory,
            _ => Kind::File,
        };
        kinds.push(kind);
    }
    kinds
}

fn of_image(mapping: &Mapping, is_program: bool) -> Kind {
    // Constants relocated by the loader and then locked are copies, so data.
    let copied = mapping.values.get("Anonymous_kb").is_some_and(|kb| *kb > 0);
    match (is_program, mapping.write || copied) {
        (true, false) => Kind::ProgramText,
        (true, true) => Kind::ProgramData,
        (false, false) => Kind::LibraryText,
        (false, true) => Kind::LibraryData,
    }
}

fn is_memory(name: &str) -> bool {
    ["/dev/zero (deleted)", "/memfd:", "/SYSV", "/dev/shm/", "/anon_hugepage"]
        .iter()
        .any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;
    use counters::parse::smaps;

    #[test]
    fn a_process_is_taken_apart() {
        let text = "\
            1000-2000 r--p 0 fe:00 7 /bin/x y\n\
            2000-3000 r-xp 0 fe:00 7 /bin/x y\n\
            3000-4000 r--p 0 fe:00 7 /bin/x y\nAnonymous: 4 kB\n\
            4000-5000 rw-p 0 fe:00 7 /bin/x y\n\
            5000-6000 rw-p 0 00:00 0 \n\
            7000-8000 rw-p 0 00:00 0 [heap]\n\
            8000-9000 rw-p 0 00:00 0 \n\
            a000-b000 r-xp 0 fe:00 8 /lib/libc.so\n\
            b000-c000 rw-p 0 fe:00 8 /lib/libc.so\n\
            d000-e000 rw-p 0 00:00 0 \n\
            e000-f000 r--p 0 fe:00 9 /usr/lib/locale\n\
            f000-10000 rw-s 0 00:01 3 /dev/zero (deleted)\n\
            10000-11000 r--p 0 00:00 0 [vvar]\n\
            11000-12000 rw-p 0 00:00 0 [anon: arena]\n\
            12000-13000 rw-p 0 00:00 0 [stack]\n";
        let mappings = smaps(text).unwrap();
        use Kind::{
            Anonymous, File, Heap, Kernel, LibraryData, LibraryText, ProgramData, ProgramText,
            SharedMemory, Stack,
        };
        let expected = [
            ProgramText,
            ProgramText,
            ProgramData,
            ProgramData,
            ProgramData,
            Heap,
            Anonymous,
            LibraryText,
            LibraryData,
            Anonymous,
            File,
            SharedMemory,
            Kernel,
            Anonymous,
            Stack,
        ];
        assert_eq!(kinds(&mappings, Some("/bin/x y")), expected);
        let unknown = kinds(&mappings, None);
        assert_eq!(unknown[..2], [LibraryText, LibraryText]);
    }
}
