//! Host files over the guest's root: the programs under test.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use guest::{MODULES_DIR, PROGRAM};

use crate::initramfs::{DIRECTORY, EXECUTABLE, LINK, PLAIN, RootFile};

/// Limit of an overlay, which is kept in the guest's memory.
const MOST_BYTES: u64 = 256 << 20;

/// Reads all files below a folder, sorted by name. Fails when it is unreadable or too large,
/// contains anything but files, folders and symbolic links, or would replace the guest's own files.
pub(crate) fn read(folder: &Path) -> Result<Vec<RootFile>, String> {
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
            read(folder.path()).unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(paths, ["/opt", "/opt/bin", "/opt/bin/compiler", "/opt/cc"]);
        fs::write(folder.path().join("thrashlab-agent"), "x").unwrap();
        assert!(read(folder.path()).unwrap_err().contains("its own"));
        let nowhere = folder.path().join("nowhere");
        assert!(read(&nowhere).unwrap_err().contains("nowhere"));
    }
}
