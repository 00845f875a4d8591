//! Delay accounting (the sysctl `kernel.task_delayacct`), on while any invocation measures.
//!
//! The kernel only counts delays of tasks that were started while the switch was on, and only
//! while it stays on; for others it returns zeros. So it is switched on before any prober starts
//! and stays on until the last invocation has ended.
//!
//! Each user holds a shared lock on the switch's own file, which the kernel frees even after
//! SIGKILL. The lock is taken only if the switch was off before the first user, so the last one
//! knows what to restore. Changes are serialized by a lock on the folder.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use crate::io_results::at;
use crate::patience::patiently;
use crate::sysctl::named;

pub(crate) const FOLDER: &str = "/proc/sys/kernel";
/// Since Linux 5.14; before, a boot option.
const SWITCH: &str = "task_delayacct";
const NAME: &str = "kernel.task_delayacct";
const ON: &str = "1";
const OFF: &str = "0";

/// Delay accounting that is on because of this, until it is dropped and [`put_back`] is called.
#[derive(Debug)]
pub(crate) struct Held {
    _lock: File,
}

/// Switches it on after `written_down` ran. `None` if it is on anyway or missing in this kernel.
pub(crate) fn switch_on(
    folder: &Path,
    written_down: impl FnOnce() -> io::Result<()>,
) -> io::Result<Option<Held>> {
    let path = folder.join(SWITCH);
    let Ok(switch) = File::open(&path) else { return Ok(None) };
    let _turn = turn(folder)?;
    let held_by_others = !try_alone(&switch)?;
    let is_on = fs::read_to_string(&path)?.trim() == ON;
    if is_on && !held_by_others {
        return Ok(None);
    }
    // Fails early, before anything is recorded.
    fs::OpenOptions::new().write(true).open(&path).map_err(|error| named(NAME, &error))?;
    switch.try_lock_shared()?;
    written_down()?;
    fs::write(&path, ON).map_err(|error| named(NAME, &error))?;
    Ok(Some(Held { _lock: switch }))
}

/// Switches it off unless another invocation needs it; returns whether it did.
pub(crate) fn put_back(folder: &Path) -> io::Result<bool> {
    let path = folder.join(SWITCH);
    let _turn = turn(folder)?;
    let alone = try_alone(&File::open(&path)?)?;
    if !alone || fs::read_to_string(&path)?.trim() == OFF {
        return Ok(false);
    }
    fs::write(&path, OFF).map_err(|error| named(NAME, &error))?;
    Ok(true)
}

/// Waits for the folder's lock, which is freed when the file is dropped.
fn turn(folder: &Path) -> io::Result<File> {
    let file = File::open(folder)?;
    patiently(|| file.try_lock().map_err(io::Error::from))
        .map_err(at(format_args!("another process holds the lock on {}", folder.display())))?;
    Ok(file)
}

/// Takes the exclusive lock; `false` if another process holds a lock.
fn try_alone(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(value: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(SWITCH), value).unwrap();
        folder
    }

    fn value(folder: &tempfile::TempDir) -> String {
        fs::read_to_string(folder.path().join(SWITCH)).unwrap().trim().to_owned()
    }

    #[test]
    fn the_last_one_puts_it_back() {
        let folder = folder("0\n");
        let first = switch_on(folder.path(), || Ok(())).unwrap().unwrap();
        assert_eq!(value(&folder), ON);
        let second = switch_on(folder.path(), || Ok(())).unwrap().unwrap();
        drop(first);
        assert!(!put_back(folder.path()).unwrap());
        assert_eq!(value(&folder), ON, "the second one still measures");
        drop(second);
        assert!(put_back(folder.path()).unwrap());
        assert_eq!(value(&folder), OFF);
        assert!(!put_back(folder.path()).unwrap(), "once is enough");
    }

    #[test]
    fn what_is_on_anyway_stays_on_and_is_not_written_down() {
        let folder = folder("1\n");
        let held = switch_on(folder.path(), || panic!("there is nothing to restore"));
        assert!(held.unwrap().is_none());
        assert_eq!(value(&folder), ON);
        let empty = tempfile::tempdir().unwrap();
        assert!(switch_on(empty.path(), || Ok(())).unwrap().is_none(), "no such switch");
    }

    #[test]
    fn nothing_changes_before_it_is_written_down() {
        let folder = folder("0\n");
        let refused = switch_on(folder.path(), || Err(io::Error::other("no room")));
        assert_eq!(refused.unwrap_err().to_string(), "no room");
        assert_eq!(value(&folder), "0");
    }
}
