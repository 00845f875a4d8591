//! A program of a root with what it needs to run apart from it: its loader and its libraries.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use object::Endianness;
use object::elf::{DT_NEEDED, FileHeader64, PT_INTERP};
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _};
use tar::{Archive, EntryType};

use crate::RootError;

const PROGRAM_FOLDERS: [&str; 6] =
    ["usr/sbin", "usr/bin", "sbin", "bin", "usr/local/sbin", "usr/local/bin"];
/// Folders in which loaders look, and in each the folders of an architecture, which Debian has.
const LIBRARY_FOLDERS: [&str; 5] = ["usr/lib", "usr/lib64", "lib", "lib64", "usr/local/lib"];
const OF_ARCHITECTURE: &str = "-linux-";
/// Symbolic links on the way to a file; the kernel's limit.
const MOST_LINKS: usize = 40;

/// A program and what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its ELF file.
    pub bytes: Vec<u8>,
    /// Its dynamic loader; `None` = it is static.
    pub loader: Option<Vec<u8>>,
    /// Its libraries by name, with those that they need.
    pub libraries: BTreeMap<String, Vec<u8>>,
}

/// Looks for a program in the archive of a root; `None` if there is none of this name. Fails when the
/// archive cannot be read, the program is not an ELF file, or one of its libraries is missing.
pub fn program(archive: &Path, name: &str) -> Result<Option<Program>, RootError> {
    let files = RootFiles::read(archive).map_err(RootError::cache(archive))?;
    let Some(bytes) = files.find(PROGRAM_FOLDERS, name).map_err(RootError::cache(archive))? else {
        return Ok(None);
    };
    let unfit = |why: String| RootError::unfit(name, why);
    let needs = needs(&bytes).map_err(|why| unfit(format!("not a program of this kind: {why}")))?;
    let loader = match &needs.loader {
        None => None,
        Some(path) => {
            let loader = files.get(path.trim_start_matches('/'));
            let loader = loader.map_err(RootError::cache(archive))?;
            Some(loader.ok_or_else(|| unfit(format!("the root lacks its loader {path}")))?)
        }
    };
    let mut program = Program { bytes, loader, libraries: BTreeMap::new() };
    let mut missing: BTreeSet<String> = needs.libraries.into_iter().collect();
    while let Some(library) = missing.pop_first() {
        let found = files.library(&library).map_err(RootError::cache(archive))?;
        let bytes = found.ok_or_else(|| unfit(format!("the root lacks its library {library}")))?;
        let more = self::needs(&bytes).map_err(|why| unfit(format!("{library}: {why}")))?;
        program.libraries.insert(library, bytes);
        missing.extend(more.libraries);
        missing.retain(|name| !program.libraries.contains_key(name));
    }
    Ok(Some(program))
}

struct Needs {
    loader: Option<String>,
    libraries: Vec<String>,
}

/// What the ELF file of a program or a library names.
fn needs(elf: &[u8]) -> object::Result<Needs> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let header = FileHeader64::<Endianness>::parse(elf)?;
    let endian = header.endian()?;
    let mut segments = header.program_headers(endian, elf)?.iter();
    let interpreter = segments.find(|segment| segment.p_type(endian) == PT_INTERP);
    let loader = interpreter.map(|segment| {
        let bytes = segment.data(endian, elf).unwrap_or_default();
        text(bytes.split(|byte| *byte == 0).next().unwrap_or_default())
    });
    let sections = header.sections(endian, elf)?;
    let mut libraries = Vec::new();
    if let Some((entries, names)) = sections.dynamic(endian, elf)? {
        let names = sections.strings(endian, elf, names)?;
        for entry in entries.iter().filter(|entry| entry.tag(endian) == DT_NEEDED) {
            libraries.push(text(entry.string(endian, names)?));
        }
    }
    Ok(Needs { loader, libraries })
}

enum Place {
    File { offset: u64, size_bytes: u64 },
    Link(String),
    Folder,
}

/// What is where in the archive of a root.
pub struct RootFiles {
    archive: File,
    places: BTreeMap<String, Place>,
}

impl RootFiles {
    /// Reads what is where. Fails as reading the archive does.
    pub fn read(path: &Path) -> io::Result<Self> {
        let archive = File::open(path)?;
        let mut places = BTreeMap::new();
        for entry in Archive::new(&archive).entries_with_seek()? {
            let entry = entry?;
            let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let path = name(&entry.path_bytes()).trim_end_matches('/').to_owned();
            let target = entry.link_name_bytes().map(|target| name(&target)).unwrap_or_default();
            let place = match entry.header().entry_type() {
                EntryType::Regular => {
                    Place::File { offset: entry.raw_file_position(), size_bytes: entry.size() }
                }
                EntryType::Symlink => Place::Link(target),
                // Its target is named from the top.
                EntryType::Link => Place::Link(format!("/{target}")),
                EntryType::Directory => Place::Folder,
                _ => continue,
            };
            places.insert(path, place);
        }
        Ok(Self { archive, places })
    }

    fn find<'a>(
        &self,
        folders: impl IntoIterator<Item = &'a str>,
        name: &str,
    ) -> io::Result<Option<Vec<u8>>> {
        for folder in folders {
            if let Some(bytes) = self.get(&format!("{folder}/{name}"))? {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    fn library(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let of_architecture = |path: &&String| {
            let folder = path.rsplit_once('/');
            folder.is_some_and(|(above, last)| {
                LIBRARY_FOLDERS.contains(&above) && last.contains(OF_ARCHITECTURE)
            })
        };
        let more = self.places.keys().filter(of_architecture).map(String::as_str);
        self.find(LIBRARY_FOLDERS.into_iter().chain(more), name)
    }

    /// The content of a file, through symbolic links; `None` if there is none at this path, whose parts
    /// are separated by `/`. Fails as reading the archive does.
    pub fn get(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        let Some((offset, size_bytes)) = self.resolve(path) else { return Ok(None) };
        let mut bytes = vec![0; usize::try_from(size_bytes).map_err(io::Error::other)?];
        self.archive.read_exact_at(&mut bytes, offset)?;
        Ok(Some(bytes))
    }

    fn resolve(&self, path: &str) -> Option<(u64, u64)> {
        let mut left: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        let mut reached: Vec<String> = Vec::new();
        let mut links = 0;
        while let Some(name) = left.pop() {
            match name.as_str() {
                "" | "." => continue,
                ".." => {
                    reached.pop();
                    continue;
                }
                _ => reached.push(name),
            }
            match self.places.get(&reached.join("/")) {
                Some(Place::File { offset, size_bytes }) if left.is_empty() => {
                    return Some((*offset, *size_bytes));
                }
                Some(Place::File { .. }) => return None,
                Some(Place::Folder) | None => {}
                Some(Place::Link(target)) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return None;
                    }
                    match target.starts_with('/') {
                        true => reached.clear(),
                        false => drop(reached.pop()),
                    }
                    left.extend(target.split('/').rev().map(str::to_owned));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::layer::tests::tar_of;

    #[test]
    fn files_are_found_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("root.tar");
        let entries = [
            ("sbin", "->usr/sbin"),
            ("usr/sbin/tool", "->../bin/other"),
            ("usr/bin/other", "content"),
            ("lib", "->/usr/lib"),
            ("usr/lib/x86_64-linux-gnu/", ""),
            ("usr/lib/x86_64-linux-gnu/libx.so.1", "->libx.so.1.2"),
            ("usr/lib/x86_64-linux-gnu/libx.so.1.2", "library"),
            ("loop", "->loop"),
        ];
        fs::write(&path, tar_of(&entries)).unwrap();
        let files = RootFiles::read(&path).unwrap();
        let text = |bytes: Option<Vec<u8>>| bytes.map(|bytes| String::from_utf8(bytes).unwrap());
        let get = |path: &str| text(files.get(path).unwrap());
        for path in ["usr/bin/other", "usr/sbin/tool", "sbin/tool", "usr/lib/../bin/other"] {
            assert_eq!(get(path).as_deref(), Some("content"), "{path}");
        }
        for path in ["loop", "usr/bin", "usr/bin/other/more", "nowhere"] {
            assert_eq!(get(path), None, "{path}");
        }
        assert_eq!(text(files.library("libx.so.1").unwrap()).as_deref(), Some("library"));
        assert_eq!(files.library("liby.so.1").unwrap(), None);
    }

    #[test]
    fn a_program_needs_its_loader_and_all_libraries() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("root.tar");
        let absent = |entries: &[(&str, &str)]| {
            fs::write(&path, tar_of(entries)).unwrap();
            program(&path, "tool").map_err(|error| error.to_string())
        };
        assert_eq!(absent(&[("usr/bin/other", "x")]), Ok(None));
        let script = absent(&[("usr/bin/tool", "#!/bin/sh\n")]).unwrap_err();
        assert!(script.contains("tool: not a program of this kind"), "{script}");
    }
}
