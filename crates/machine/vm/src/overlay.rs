//! Files over the guest's root: the programs under test, from a folder of the host or from this program.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use guest::{MODULES_DIR, PROGRAM};
use keep::Cache;
use model::VmSpec;

use crate::VmError;
use crate::initramfs::{DIRECTORY, EXECUTABLE, LINK, PLAIN, RootFile};
use crate::platform::{Platform, find_kernel};

/// Limit of an overlay, which is kept in the guest's memory.
const MOST_BYTES: u64 = 256 << 20;

/// What names an overlay of this program, and not a folder.
const BUILT_IN: &str = "builtin:";
/// The one that there is: the program `mechanism`, which measures the mechanisms of a kernel.
pub const MECHANISMS: &str = "builtin:mechanisms";
/// Where the guest has it.
const MECHANISM: &str = "/bin/mechanism";
const BIN: &str = "/bin";

/// Whether an overlay is a folder of this machine.
pub fn is_folder(overlay: &str) -> bool {
    !overlay.starts_with(BUILT_IN)
}

/// Checks a name without looking for the folder. The error says what is possible.
pub(crate) fn check(overlay: &str) -> Result<(), String> {
    match is_folder(overlay) || overlay == MECHANISMS {
        true => Ok(()),
        false => Err(format!("overlay: there is no {overlay}; name a folder, or {MECHANISMS}")),
    }
}

/// The files of the overlay of a machine, if it has one. Fails as [`check`], for a folder as
/// [`read_folder`], and when the kernel or this build's program for it is missing.
pub(crate) fn of(spec: &VmSpec, cache: &Cache) -> Result<Vec<RootFile>, VmError> {
    let Some(overlay) = &spec.overlay else { return Ok(Vec::new()) };
    check(overlay).map_err(VmError::Unavailable)?;
    if is_folder(overlay) {
        return read_folder(Path::new(overlay)).map_err(VmError::Unavailable);
    }
    let platform = Platform::of_kernel(&find_kernel(&spec.kernel, cache)?)?;
    mechanisms(platform).map_err(VmError::Unavailable)
}

/// The program `mechanism` for a platform, in its folder.
fn mechanisms(platform: &Platform) -> Result<Vec<RootFile>, String> {
    let bytes = instrument::mechanism(platform.architecture)?;
    let folder = RootFile { path: BIN.to_owned(), mode: DIRECTORY, bytes: Vec::new() };
    Ok(vec![folder, RootFile { path: MECHANISM.to_owned(), mode: EXECUTABLE, bytes }])
}

/// Reads all files below a folder, sorted by name. Fails when it is unreadable or too large,
/// contains anything but files, folders and symbolic links, or would replace the guest's own files.
fn read_folder(folder: &Path) -> Result<Vec<RootFile>, String> {
    let mut files = Vec::new();
    collect(folder, "", &mut files)?;
    let size_bytes: u64 = files.iter().map(|file| file.bytes.len() as u64).sum();
    if size_bytes > MOST_BYTES {
        let folder = folder.display();
        return Err(format!(
            "overlay {folder}: {size_bytes} bytes, more than {MOST_BYTES}: it is kept in memory"
        ));
    }
    Ok(files)
}

fn collect(folder: &Path, inside: &str, files: &mut Vec<RootFile>) -> Result<(), String> {
    let failed = |path: &Path, error: io::Error| format!("overlay {}: {error}", path.display());
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = entries.map_err(|error| failed(folder, error))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let unfit = |why: &str| failed(&path, io::Error::other(why.to_owned()));
        let name = entry.file_name();
        let name = name.to_str().ok_or_else(|| unfit("its name is not UTF-8"))?;
        let inside = format!("{inside}/{name}");
        if inside == PROGRAM || inside == MODULES_DIR {
            return Err(unfit("the guest has its own of this name"));
        }
        let (mode, bytes) = content(&entry).map_err(|error| failed(&path, error))?;
        files.push(RootFile { path: inside.clone(), mode, bytes });
        if mode == DIRECTORY {
            collect(&path, &inside, files)?;
        }
    }
    Ok(())
}

fn content(entry: &fs::DirEntry) -> io::Result<(u32, Vec<u8>)> {
    let (path, kind) = (entry.path(), entry.file_type()?);
    if kind.is_dir() {
        Ok((DIRECTORY, Vec::new()))
    } else if kind.is_symlink() {
        Ok((LINK, fs::read_link(&path)?.into_os_string().into_encoded_bytes()))
    } else if kind.is_file() {
        let is_executable = entry.metadata()?.permissions().mode() & 0o111 != 0;
        Ok((if is_executable { EXECUTABLE } else { PLAIN }, fs::read(&path)?))
    } else {
        Err(io::Error::other("neither a file nor a folder nor a symbolic link"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_before_what_is_in_them_and_the_guest_keeps_its_own() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("opt/bin")).unwrap();
        fs::write(folder.path().join("opt/bin/compiler"), "x").unwrap();
        std::os::unix::fs::symlink("bin/compiler", folder.path().join("opt/cc")).unwrap();
        let paths: Vec<String> =
            read_folder(folder.path()).unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(paths, ["/opt", "/opt/bin", "/opt/bin/compiler", "/opt/cc"]);
        fs::write(folder.path().join("thrashlab-agent"), "x").unwrap();
        assert!(read_folder(folder.path()).unwrap_err().contains("its own"));
        let nowhere = folder.path().join("nowhere");
        assert!(read_folder(&nowhere).unwrap_err().contains("nowhere"));
    }

    #[test]
    fn the_mechanisms_are_a_program_of_this_one() {
        let platform = Platform::all().find(|platform| platform.is_of_this_program()).unwrap();
        let files = mechanisms(platform).unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["/bin", "/bin/mechanism"]);
        assert_eq!(files[1].bytes[..4], *b"\x7fELF");
        assert_eq!(check("builtin:mechanisms"), Ok(()));
        let why = check("builtin:mechanism").unwrap_err();
        assert!(why.ends_with("name a folder, or builtin:mechanisms"), "{why}");
    }
}
