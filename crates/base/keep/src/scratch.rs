//! Unfinished folders of the cache, removed by their maker or by a later one.

use std::fs::{self, DirEntry, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::host;
use crate::io_results::if_exists;

const SUFFIX: &str = ".part";
/// Prefix of former versions, which took no lock, and the age from which they count as abandoned.
const FORMER: (&str, Duration) = (".unfinished-", Duration::from_secs(3600));

/// A folder that is removed unless it has been renamed. Its maker holds a lock on it, which is
/// visible only on the machine in its name: machines may share a home directory.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Makes an empty folder in `dir`, if it can, and removes what dead processes left there.
    pub fn make(dir: &Path, name: &str) -> io::Result<Self> {
        sweep(dir);
        fs::create_dir_all(dir)?;
        loop {
            let folder = tempfile::Builder::new()
                .prefix(&format!("{name}.{}.", host::machine()))
                .suffix(SUFFIX)
                .tempdir_in(dir)?;
            // Before the lock, a sweep may have removed it.
            let Some(lock) = if_exists(File::open(folder.path()))? else { continue };
            // A file system without locks also has no sweeps.
            let is_free = !matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
            if is_free && folder.path().exists() {
                return Ok(Self { path: folder.keep(), _lock: lock });
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

pub(crate) fn sweep(dir: &Path) {
    let machine = format!(".{}.", host::machine());
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Held until it is removed, so that its maker cannot take it.
        let lock = File::open(entry.path());
        let is_dead = if name.ends_with(SUFFIX) && name.contains(&machine) {
            lock.as_ref().is_ok_and(|folder| folder.try_lock().is_ok())
        } else {
            name.starts_with(FORMER.0) && age(&entry).is_some_and(|age| age > FORMER.1)
        };
        if is_dead {
            // Retried next time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn age(entry: &DirEntry) -> Option<Duration> {
    entry.metadata().ok()?.modified().ok()?.elapsed().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_make_and_sweep_at_once_all_get_their_folder() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let dir = dir.path();
                scope.spawn(move || {
                    for _ in 0..200 {
                        let made = Scratch::make(dir, &thread.to_string()).unwrap();
                        assert!(made.path().is_dir());
                    }
                });
            }
        });
    }

    #[test]
    fn what_the_dead_left_is_removed_and_what_the_living_make_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let living = Scratch::make(dir.path(), "a").unwrap();
        let again = Scratch::make(dir.path(), "a").unwrap();
        assert_ne!(living.path(), again.path(), "two threads do not share one");
        let dead = dir.path().join(format!("b.{}.x1.part", host::machine()));
        // Its number is of no process here, but it may well live on another machine.
        let elsewhere = dir.path().join("b.another-machine.4294967295.part");
        for folder in [&dead, &elsewhere] {
            fs::create_dir(folder).unwrap();
        }
        let next = Scratch::make(dir.path(), "c").unwrap();
        assert!(living.path().exists() && again.path().exists() && next.path().exists());
        assert!(!dead.exists() && elsewhere.exists());
        let path = next.path().to_owned();
        drop(next);
        assert!(!path.exists());
    }
}
