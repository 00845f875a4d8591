//! Tools on files and directories: listing, renaming, permissions, copies, archives.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use rustix::fs::{XattrFlags, setxattr};
use rustix::io::Errno;

use super::{Done, at, read, write};

/// An attribute that any user may set on their own files.
const ATTRIBUTE: &str = "user.thrashlab.readers";
/// The readers as an access control list.
const READERS: &[u8] = b"re *.SysDaemon.*\nr *.*.*\n";

/// Prints mode, links, owner, size and name of all files below a directory.
pub(super) fn list(argument: &str, out: &mut dyn Write) -> Done {
    for path in all(Path::new(argument))? {
        let facts = fs::symlink_metadata(&path).map_err(at("look at", &path))?;
        let (mode, links, size_bytes) = (facts.mode(), facts.nlink(), facts.len());
        let owner = format!("{:>6} {:>6}", facts.uid(), facts.gid());
        let _ = writeln!(out, "{mode:o} {links:>3} {owner} {size_bytes:>10} {}", path.display());
    }
    Ok(())
}

/// Renames every file of a directory, and back.
pub(super) fn rename(folder: &str) -> Done {
    for path in entries(Path::new(folder))? {
        let mut other = path.clone().into_os_string();
        other.push("~");
        let other = PathBuf::from(other);
        fs::rename(&path, &other).map_err(at("rename", &path))?;
        fs::rename(&other, &path).map_err(at("rename", &other))?;
    }
    Ok(())
}

/// Revokes and restores the permissions of others, and names readers in an attribute.
pub(super) fn set_acl(folder: &str) -> Done {
    for path in all(Path::new(folder))? {
        let is_folder = path.is_dir();
        for mode in if is_folder { [0o700, 0o755] } else { [0o600, 0o644] } {
            fs::set_permissions(&path, Permissions::from_mode(mode)).map_err(at("set", &path))?;
        }
        match setxattr(&path, ATTRIBUTE, READERS, XattrFlags::empty()) {
            // Not every file system has attributes, or room for one.
            Ok(()) | Err(Errno::NOTSUP | Errno::NOSPC | Errno::PERM) => {}
            Err(error) => return Err(at("set an attribute of", &path)(error.into())),
        }
    }
    Ok(())
}

/// Copies a directory recursively over an existing one.
pub(super) fn copy(from: &str, to: &str) -> Done {
    let (from, to) = (Path::new(from), Path::new(to));
    for path in all(from)? {
        let Ok(below) = path.strip_prefix(from) else { continue };
        // Joining an empty path would add a slash.
        let target = if below.as_os_str().is_empty() { to.to_owned() } else { to.join(below) };
        if path.is_dir() {
            fs::create_dir_all(&target).map_err(at("make", &target))?;
        } else {
            fs::copy(&path, &target).map_err(at("copy to", &target))?;
        }
    }
    Ok(())
}

/// Deletes a fresh copy, so that there is always something to delete.
pub(super) fn delete(from: &str, doomed: &str) -> Done {
    copy(from, doomed)?;
    fs::remove_dir_all(doomed).map_err(at("delete", doomed))
}

pub(super) fn archive(archive: &str, folders: &[String], _: &mut dyn Write) -> Done {
    let file = File::create(archive).map_err(at("make", archive))?;
    let mut builder = tar::Builder::new(BufWriter::new(file));
    // Independent of owners and times.
    builder.mode(tar::HeaderMode::Deterministic);
    for folder in folders {
        let folder = Path::new(folder);
        let above = folder.parent().unwrap_or(folder);
        for path in files(folder)? {
            let name = path.strip_prefix(above).unwrap_or(&path);
            builder.append_path_with_name(&path, name).map_err(at("archive", &path))?;
        }
    }
    let mut writer = builder.into_inner().map_err(at("write", archive))?;
    writer.flush().map_err(at("write", archive))
}

pub(super) fn compress(from: &str, to: &str) -> Done {
    let bytes = read(from)?;
    // Independent of name and time.
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::default());
    encoder.write_all(&bytes).map_err(at("compress", from))?;
    write(to, encoder.finish().map_err(at("compress", from))?)
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(dir).map_err(at("read", dir))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<BTreeSet<_>>>();
    Ok(paths.map_err(at("read", dir))?.into_iter().collect())
}

/// A path and all below it, directories before their contents; links are not followed.
fn all(path: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        let facts = fs::symlink_metadata(&path).map_err(at("look at", &path))?;
        if facts.is_dir() {
            left.extend(entries(&path)?.into_iter().rev());
        }
        found.push(path);
    }
    Ok(found)
}

pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    Ok(all(path)?.into_iter().filter(|path| path.is_file()).collect())
}
