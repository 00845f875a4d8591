//! Folders of the cache that are not finished: removed by their maker, or by the next one if the
//! maker was killed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// How the name of an unfinished folder ends, after the machine that makes it and a free word.
const SUFFIX: &str = ".part";

/// A folder that is removed unless it has been renamed.
///
/// Its maker holds a lock on the folder itself. The lock is one of the machine, so whether the
/// maker still lives is judged on the machine that is part of the name, and nowhere else: a home
/// directory may be common to several.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Makes an empty folder in `dir`, and removes what dead processes left there.
    pub(crate) fn make(dir: &Path, name: &str) -> io::Result<Self> {
        sweep(dir);
        fs::create_dir_all(dir)?;
        loop {
            let folder = tempfile::Builder::new()
                .prefix(&format!("{name}.{}.", sys::host::machine()))
                .suffix(SUFFIX)
                .tempdir_in(dir)?;
            // Before it is locked, a sweeper may take it for that of a dead process.
            let lock = match File::open(folder.path()) {
                Ok(lock) => lock,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if lock.try_lock().is_ok() && folder.path().exists() {
                return Ok(Self { path: folder.keep(), _lock: lock });
            }
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what dead processes of this machine left in a folder.
pub(crate) fn sweep(dir: &Path) {
    let machine = format!(".{}.", sys::host::machine());
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !(name.ends_with(SUFFIX) && name.contains(&machine)) {
            continue;
        }
        if let Ok(folder) = File::open(entry.path())
            && folder.try_lock().is_ok()
        {
            // What cannot be removed now is tried again next time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
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
        let dead = dir.path().join(format!("b.{}.x1.part", sys::host::machine()));
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
