//! The cache: kernels, booted machines and finished cells, each under the hash of its inputs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cells::Cells;
use crate::folders::user_folder;
use crate::io_results::{at, if_exists, unless_missing};
use crate::scratch::sweep;

const KERNELS: &str = "kernels";
const ROOTS: &str = "roots";
const SNAPSHOTS: &str = "snapshots";
const CELLS: &str = "cells";
const ENGINES: &str = "engines";
/// Copies of this program that other machines put here, named by hash (crate `remote`).
const PROGRAMS: &str = "bin";
/// The default store of fleets (`docs/fleet.md`): finished cells, and files for nodes.
const FLEET: &str = "fleet";
const FLEET_PARTS: [&str; 2] = ["cells", "blobs"];

/// The cache of this user.
#[derive(Clone, Debug)]
pub struct Cache {
    /// Its folder.
    pub root: PathBuf,
    /// The folder of booted machines.
    pub snapshots: PathBuf,
    /// Finished cells.
    pub cells: Cells,
}

/// The contents of the cache: name and usage of each part.
pub type Contents = Vec<(&'static str, Usage)>;

/// Count and size of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How many.
    pub count: u64,
    /// What they take on the disk, in bytes (holes take nothing).
    pub size_bytes: u64,
}

impl Cache {
    /// In `$XDG_CACHE_HOME/thrashlab`, else `~/.cache/thrashlab`, else `./thrashlab-cache`.
    pub fn of_user() -> Self {
        let root = user_folder("XDG_CACHE_HOME", ".cache")
            .unwrap_or_else(|| PathBuf::from("thrashlab-cache"));
        Self::at(root)
    }

    /// A cache in a folder.
    pub fn at(root: PathBuf) -> Self {
        let cells = Cells { folder: root.join(CELLS) };
        Self { snapshots: root.join(SNAPSHOTS), cells, root }
    }

    /// The folder of unpacked kernels.
    pub fn kernels(&self) -> PathBuf {
        self.root.join(KERNELS)
    }

    /// The folder of engines that were built here.
    pub fn engines(&self) -> PathBuf {
        self.root.join(ENGINES)
    }

    /// The folder of archives of roots.
    pub fn roots(&self) -> PathBuf {
        self.root.join(ROOTS)
    }

    /// Name, folder to remove, folders whose entries count, and whether it is cheap to rebuild.
    fn parts(&self) -> [(&'static str, PathBuf, Vec<PathBuf>, bool); 7] {
        let simple =
            |name, folder: PathBuf, is_cheap| (name, folder.clone(), vec![folder], is_cheap);
        let fleet = self.root.join(FLEET);
        let counted = FLEET_PARTS.map(|part| fleet.join(part)).into();
        [
            simple("kernels", self.kernels(), false),
            simple("engines", self.engines(), false),
            simple("roots", self.roots(), false),
            simple("snapshots", self.snapshots.clone(), true),
            simple("cells", self.cells.folder.clone(), true),
            simple("programs", self.root.join(PROGRAMS), false),
            ("fleet", fleet, counted, true),
        ]
    }

    /// Its contents. Fails when it cannot be read.
    pub fn contents(&self) -> io::Result<Contents> {
        self.parts().iter().map(|(name, _, counted, _)| Ok((*name, usage(counted)?))).collect()
    }

    /// Removes snapshots, cells and the fleet store, or `all`; returns what. Fails when it cannot.
    pub fn prune(&self, all: bool) -> io::Result<Contents> {
        sweep(&self.root);
        let mut contents = Contents::new();
        for (name, folder, counted, is_cheap) in self.parts() {
            let mut removed = Usage::default();
            if all || is_cheap {
                removed = usage(&counted)?;
                let gone = unless_missing(fs::remove_dir_all(&folder));
                gone.map_err(at(format_args!("remove {}", folder.display())))?;
            }
            contents.push((name, removed));
        }
        Ok(contents)
    }
}

fn usage(folders: &[PathBuf]) -> io::Result<Usage> {
    let mut found = Usage::default();
    for folder in folders {
        let Some(entries) = if_exists(fs::read_dir(folder))? else { continue };
        for entry in entries {
            let entry = entry?;
            found.size_bytes += size_bytes(&entry.path())?;
            // Hidden ones are being made, or are about the others.
            found.count += u64::from(!entry.file_name().as_encoded_bytes().starts_with(b"."));
        }
    }
    Ok(found)
}

fn size_bytes(path: &Path) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let facts = fs::symlink_metadata(path)?;
    let mut sum = facts.blocks() * 512;
    if facts.is_dir() {
        for entry in fs::read_dir(path)? {
            sum += size_bytes(&entry?.path())?;
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_counted_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        cache.cells.keep("k", b"bytes").unwrap();
        for file in ["cells/a.run.jsonl", "cells/b.run.jsonl", "blobs/c.zz"] {
            let file = folder.path().join("fleet").join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, [1; 4096]).unwrap();
        }
        let count = |contents: &Contents, name: &str| {
            contents.iter().find(|(part, _)| *part == name).unwrap().1.count
        };
        let contents = cache.contents().unwrap();
        assert_eq!((count(&contents, "cells"), count(&contents, "fleet")), (1, 3));
        assert_eq!(cache.prune(false).unwrap(), contents);
        assert!(!folder.path().join("fleet").exists());
        assert!(cache.contents().unwrap().iter().all(|(_, usage)| *usage == Usage::default()));
    }
}
