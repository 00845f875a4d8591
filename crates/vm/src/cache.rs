//! The cache: kernels, snapshots of booted machines, and finished deterministic cells, each under
//! the hash of everything that it depends on.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use model::{EndStatus, Run};
use sys::user_folder::user_folder;

use crate::scratch::{Scratch, sweep};

/// Folders of the cache.
const KERNELS: &str = "kernels";
const SNAPSHOTS: &str = "snapshots";
const CELLS: &str = "cells";
/// Where other machines put copies of this program, named by their hashes (crate `remote`).
const PROGRAMS: &str = "bin";
/// How the name of a finished cell ends.
const CELL_SUFFIX: &str = ".run.jsonl";

/// The cache of this user.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
    /// Where booted machines lie.
    snapshots: PathBuf,
}

/// What lies in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Kernels unpacked from packages.
    pub kernels: Usage,
    /// Booted machines.
    pub snapshots: Usage,
    /// Finished cells.
    pub cells: Usage,
    /// Copies of this program that other machines measure this one with.
    pub programs: Usage,
}

/// Count and size of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How many.
    pub count: u64,
    /// What they take on the disk, in bytes (holes take nothing).
    pub size_bytes: u64,
}

impl Cache {
    /// The cache of this user: `$XDG_CACHE_HOME/thrashlab`, else `~/.cache/thrashlab`, else a
    /// folder of the current one.
    #[must_use]
    pub fn of_user() -> Self {
        let root = user_folder("XDG_CACHE_HOME", ".cache")
            .unwrap_or_else(|| PathBuf::from("thrashlab-cache"));
        Self::at(root)
    }

    /// A cache in a folder.
    #[must_use]
    pub fn at(root: PathBuf) -> Self {
        Self { snapshots: root.join(SNAPSHOTS), root }
    }

    /// This cache with no machine booted; what is booted goes when the folder does.
    #[must_use]
    pub fn without_snapshots(&self, scratch: &Scratch) -> Self {
        Self { root: self.root.clone(), snapshots: scratch.path().to_owned() }
    }

    /// A new folder for files that nobody needs later.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn scratch(&self, name: &str) -> io::Result<Scratch> {
        Scratch::make(&self.root, name)
    }

    /// Where it lies.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where unpacked kernels lie.
    #[must_use]
    pub fn kernels(&self) -> PathBuf {
        self.root.join(KERNELS)
    }

    /// Where booted machines lie.
    pub(crate) fn snapshots(&self) -> &Path {
        &self.snapshots
    }

    /// The bytes of a finished cell; a file that is not whole is removed and counts as none.
    pub(crate) fn cell(&self, key: &str) -> Option<Vec<u8>> {
        let path = self.cell_path(key);
        let bytes = fs::read(&path).ok()?;
        let whole = Run::parse(&bytes)
            .is_ok_and(|run| run.status() == EndStatus::Complete && run.checksum_ok == Some(true));
        if !whole {
            // It is made again, and then this file would be replaced anyway.
            let _ = fs::remove_file(&path);
        }
        whole.then_some(bytes)
    }

    /// Keeps a finished cell.
    pub(crate) fn keep_cell(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.cell_path(key);
        let folder = self.root.join(CELLS);
        fs::create_dir_all(&folder)?;
        // Under a name of its own first: two processes may finish the same cell.
        let part = folder.join(format!("{key}.{}.part", std::process::id()));
        let mut file = File::create(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, &path)
    }

    fn cell_path(&self, key: &str) -> PathBuf {
        self.root.join(CELLS).join(format!("{key}{CELL_SUFFIX}"))
    }

    /// What lies in it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn contents(&self) -> io::Result<Contents> {
        Ok(Contents {
            kernels: usage(&self.kernels())?,
            snapshots: usage(self.snapshots())?,
            cells: usage(&self.root.join(CELLS))?,
            programs: usage(&self.root.join(PROGRAMS))?,
        })
    }

    /// Removes snapshots and cells, and kernels and copied programs too if `all`; all of it is made
    /// again when it is needed. Returns what was removed.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn prune(&self, all: bool) -> io::Result<Contents> {
        sweep(&self.root);
        let mut removed = self.contents()?;
        let mut folders = vec![self.snapshots.clone(), self.root.join(CELLS)];
        if all {
            folders.extend([self.kernels(), self.root.join(PROGRAMS)]);
        } else {
            (removed.kernels, removed.programs) = (Usage::default(), Usage::default());
        }
        for folder in folders {
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    let text = format!("remove {}: {error}", folder.display());
                    return Err(io::Error::new(error.kind(), text));
                }
                _ => {}
            }
        }
        Ok(removed)
    }
}

/// Count of a folder's entries, and all that lies below them.
fn usage(folder: &Path) -> io::Result<Usage> {
    let mut found = Usage::default();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        other => other?,
    };
    for entry in entries {
        found.count += 1;
        found.size_bytes += size_bytes(&entry?.path())?;
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
    use model::{Line, RunEncoder};

    /// A whole run of a header and an end.
    fn run_file() -> Vec<u8> {
        let spec = r#"{"subject":{"kind":"host","memory_bytes":1},
            "load":{"name":"noload","version":1,"intensity":1.0},
            "probe":{"name":"wake","version":1},
            "timing":{"profile":"quick","interval_ns":1,"points":1,"warmup_ns":1,"timeout_ns":1},
            "seed":1,"block":0,"order":0}"#;
        let header = format!(
            r#"{{"kind":"header","schema":1,"run_id":"r","thrashlab":"0","started_unix_ns":1,
            "spec":{spec},"environment":{{}},"missed":[]}}"#
        );
        let mut encoder = RunEncoder::default();
        let mut text = encoder.line(&Line::parse(&header).unwrap());
        text += &encoder.end(1, EndStatus::Complete);
        text.into_bytes()
    }

    #[test]
    fn a_damaged_cell_is_no_cell() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        assert_eq!(cache.cell("k"), None);
        let bytes = run_file();
        cache.keep_cell("k", &bytes).unwrap();
        assert_eq!(cache.cell("k").as_deref(), Some(bytes.as_slice()));
        let mut damaged = bytes.clone();
        let digit = damaged.iter().position(u8::is_ascii_digit).unwrap();
        damaged[digit] ^= 1;
        for wrong in [damaged, bytes[..bytes.len() - 9].to_vec(), Vec::new()] {
            cache.keep_cell("k", &wrong).unwrap();
            assert_eq!(cache.cell("k"), None);
        }
        cache.keep_cell("k", &bytes).unwrap();
        assert_eq!(cache.contents().unwrap().cells.count, 1);
        assert_eq!(cache.prune(false).unwrap().cells.count, 1);
        assert_eq!(cache.contents().unwrap(), Contents::default());
    }
}
