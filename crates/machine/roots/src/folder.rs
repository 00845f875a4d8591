//! A folder of this machine as a root.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use crate::RootError;
use crate::layer::Building;
use crate::tree::{Attributes, Content, Kind, clamped_s};

/// Everything that shows whether a folder has changed, without reading its files. Fails when a folder
/// cannot be read.
pub(crate) fn fingerprint(folder: &Path) -> Result<blake3::Hash, RootError> {
    let mut hasher = blake3::Hasher::new();
    // What belongs to this user is root's in the guest.
    hasher.update(format!("{:?} ", own_ids()).as_bytes());
    walk(folder, &mut |path, _, facts| {
        let changed = (facts.ctime(), facts.ctime_nsec(), facts.mtime(), facts.mtime_nsec());
        let text = format!("{changed:?} {} {} {}", facts.ino(), facts.len(), facts.mode());
        hasher.update(path);
        hasher.update(text.as_bytes());
        hasher.update(&[0]);
        Ok(())
    })?;
    Ok(hasher.finalize())
}

/// User and group of this process.
fn own_ids() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

/// Adds a folder's content to a tree. Other mounted file systems in it stay empty, sockets are
/// omitted. Where the folder belongs to an ordinary user, what this user owns is root's in the guest.
pub(crate) fn read(folder: &Path, building: &mut Building<'_>) -> Result<(), RootError> {
    let (own_uid, own_gid) = own_ids();
    let owner = |id: u32, own: u32| u64::from(if own_uid == 0 || id != own { id } else { 0 });
    let mut linked: HashMap<(u64, u64), Content> = HashMap::new();
    walk(folder, &mut |inside, path, facts| {
        if (building.stop)() {
            return Err(RootError::Interrupted);
        }
        let failed = RootError::io(path);
        let kind = facts.file_type();
        let kind = if kind.is_dir() {
            Kind::Directory
        } else if kind.is_symlink() {
            let target = fs::read_link(path).map_err(failed)?;
            Kind::Link(target.into_os_string().as_bytes().to_vec())
        } else if kind.is_file() {
            let identity = (facts.dev(), facts.ino());
            let known = linked.get(&identity).copied();
            let content = match known {
                Some(content) => content,
                None => {
                    let mut file = File::open(path).map_err(&failed)?;
                    building.spool.keep(&mut file, building.stop).map_err(failed)?
                }
            };
            if facts.nlink() > 1 {
                linked.insert(identity, content);
            }
            Kind::File(content)
        } else if kind.is_fifo() {
            Kind::Fifo
        } else if kind.is_block_device() || kind.is_char_device() {
            let device = facts.rdev();
            let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
            Kind::Device { is_block: kind.is_block_device(), major, minor }
        } else {
            return Ok(());
        };
        let attributes = Attributes {
            mode: facts.mode() & 0o7777,
            uid: owner(facts.uid(), own_uid),
            gid: owner(facts.gid(), own_gid),
            modified_s: clamped_s(facts.mtime() as u64),
        };
        let added = building.tree.add(inside, kind, attributes);
        added.map_err(|why| RootError::unfit(path.display(), why))
    })
}

type Visit<'a> = dyn FnMut(&[u8], &Path, &Metadata) -> Result<(), RootError> + 'a;

/// Visits everything below a folder, in the order of names: the path in it, the path, its facts.
fn walk(folder: &Path, visit: &mut Visit<'_>) -> Result<(), RootError> {
    let facts = fs::metadata(folder).map_err(RootError::io(folder))?;
    below(folder, b"", facts.dev(), visit)
}

fn below(
    folder: &Path,
    inside: &[u8],
    device: u64,
    visit: &mut Visit<'_>,
) -> Result<(), RootError> {
    let failed = RootError::io(folder);
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let mut names: Vec<_> =
        entries.map_err(failed)?.into_iter().map(|entry| entry.file_name()).collect();
    names.sort();
    for name in names {
        let path = folder.join(&name);
        let inside = match inside {
            [] => name.as_bytes().to_vec(),
            _ => [inside, b"/", name.as_bytes()].concat(),
        };
        let facts = fs::symlink_metadata(&path).map_err(RootError::io(&path))?;
        visit(&inside, &path, &facts)?;
        if facts.is_dir() && facts.dev() == device {
            below(&path, &inside, device, visit)?;
        }
    }
    Ok(())
}
