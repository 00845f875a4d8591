//! A lock on a file, freed by the kernel when its holder ends, with a note about the holder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

const MOST_NOTE_BYTES: u64 = 4096;

/// A lock that is held; it is free, and its note gone, when this is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes a free lock and leaves a note after `begin`; else returns the holder's note. Fails
    /// when the file cannot be used, or starts otherwise and so is not ours.
    pub fn take(path: &Path, begin: &str, note: &str) -> io::Result<Result<Self, String>> {
        let mut file = open(path)?;
        let mut text = Vec::new();
        Read::by_ref(&mut file).take(MOST_NOTE_BYTES).read_to_end(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        if !text.is_empty() && !text.starts_with(begin) {
            let text =
                format!("{} is not a lock of thrashlab's and was left alone", path.display());
            return Err(io::Error::other(text));
        }
        match file.try_lock() {
            Ok(()) => Self { file }.signed(begin, note).map(Ok),
            Err(TryLockError::WouldBlock) => {
                Ok(Err(text.get(begin.len()..).unwrap_or_default().trim().to_owned()))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Waits for a lock, takes it and leaves a note. Fails when the file cannot be used.
    pub fn wait(path: &Path, begin: &str, note: &str) -> io::Result<Self> {
        let file = open(path)?;
        file.lock()?;
        Self { file }.signed(begin, note)
    }

    fn signed(mut self, begin: &str, note: &str) -> io::Result<Self> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(format!("{begin}{note}\n").as_bytes())?;
        Ok(self)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The lock itself goes with the file.
        let _ = self.file.set_len(0);
    }
}

fn open(path: &Path) -> io::Result<File> {
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(0o600).custom_flags(no_link).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(path: &Path, note: &str) -> Result<Lock, String> {
        Lock::take(path, "lock: ", note).unwrap()
    }

    #[test]
    fn a_second_one_learns_who_holds_it_and_gets_it_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = take(&path, "anna").unwrap();
        assert_eq!(take(&path, "bob").unwrap_err(), "anna");
        let waiting = std::thread::spawn({
            let path = path.clone();
            move || Lock::wait(&path, "lock: ", "bob").unwrap()
        });
        drop(first);
        let second = waiting.join().unwrap();
        assert_eq!(take(&path, "carl").unwrap_err(), "bob");
        drop(second);
        assert!(take(&path, "carl").is_ok());
    }

    #[test]
    fn a_file_that_is_not_ours_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        std::fs::write(&path, "4711\n").unwrap();
        let error = Lock::take(&path, "lock: ", "anna").unwrap_err().to_string();
        assert!(error.contains("lock is not a lock of thrashlab's"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"4711\n");
    }
}
