//! Folders of the cache that are not finished: removed by their maker, or by the next one if the
//! maker was killed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How the name of an unfinished folder ends, after the number of the process that makes it.
const SUFFIX: &str = ".part";

/// A folder that is removed unless it has been renamed.
#[derive(Debug)]
pub struct Scratch(pub(crate) PathBuf);

impl Scratch {
    /// Makes an empty folder in `dir`, and removes what dead processes left there.
    pub(crate) fn make(dir: &Path, name: &str) -> io::Result<Self> {
        sweep(dir);
        let path = dir.join(format!("{name}.{}{SUFFIX}", std::process::id()));
        // One of this name is of a dead process that had the same number.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes what dead processes left in a folder.
pub(crate) fn sweep(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let maker = name.strip_suffix(SUFFIX).and_then(|name| name.rsplit('.').next());
        let Some(maker) = maker.and_then(|number| number.parse::<u32>().ok()) else { continue };
        if !Path::new("/proc").join(maker.to_string()).exists() {
            // What cannot be removed now is tried again next time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_dead_left_is_removed_and_what_the_living_make_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let living = Scratch::make(dir.path(), "a").unwrap();
        // No process has a number like this.
        let dead = dir.path().join("b.4294967295.part");
        fs::create_dir(&dead).unwrap();
        let next = Scratch::make(dir.path(), "c").unwrap();
        assert!(living.0.exists() && next.0.exists() && !dead.exists());
        let path = next.0.clone();
        drop(next);
        assert!(!path.exists());
    }
}
