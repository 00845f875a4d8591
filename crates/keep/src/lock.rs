//! A lock on a file, freed by the kernel when its holder ends, with a note about the holder for people.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Longest note that is read, in bytes.
const MOST_NOTE_BYTES: u64 = 4096;

/// A lock that is held; it is free, and its note gone, when this is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// What came of asking for a lock.
#[derive(Debug)]
pub enum Attempt {
    /// This process holds it.
    Held(Lock),
    /// Another process holds it; its note, empty if it left none.
    Busy(String),
}

impl Lock {
    /// Takes a lock if it is free, and leaves a note. All notes of a kind of lock begin alike: a
    /// file that begins otherwise is not ours, and stays as it is. Fails when the file cannot be
    /// used, or is not ours.
    pub fn take(path: &Path, begin: &str, note: &str) -> io::Result<Attempt> {
        let mut file = open(path)?;
        let mut text = Vec::new();
        Read::by_ref(&mut file).take(MOST_NOTE_BYTES).read_to_end(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        if !text.is_empty() && !text.starts_with(begin) {
            let text = format!("{} is no lock of thrashlab's, and stays as it is", path.display());
            return Err(io::Error::other(text));
        }
        match file.try_lock() {
            Ok(()) => Ok(Attempt::Held(Self { file }.signed(begin, note)?)),
            Err(TryLockError::WouldBlock) => {
                Ok(Attempt::Busy(text.get(begin.len()..).unwrap_or_default().trim().to_owned()))
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
        // Nobody holds it now; the lock itself goes with the file.
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

    fn take(path: &Path, note: &str) -> Attempt {
        Lock::take(path, "lock: ", note).unwrap()
    }

    #[test]
    fn a_second_one_learns_who_holds_it_and_gets_it_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let Attempt::Held(first) = take(&path, "anna") else { panic!("not free") };
        let Attempt::Busy(holder) = take(&path, "bob") else { panic!("free") };
        assert_eq!(holder, "anna");
        let waiting = std::thread::spawn({
            let path = path.clone();
            move || Lock::wait(&path, "lock: ", "bob").unwrap()
        });
        drop(first);
        let second = waiting.join().unwrap();
        let Attempt::Busy(holder) = take(&path, "carl") else { panic!("free") };
        assert_eq!(holder, "bob");
        drop(second);
        assert!(matches!(take(&path, "carl"), Attempt::Held(_)));
    }

    #[test]
    fn a_file_that_is_not_ours_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        std::fs::write(&path, "4711\n").unwrap();
        let error = Lock::take(&path, "lock: ", "anna").unwrap_err().to_string();
        assert!(error.contains("lock is no lock of thrashlab's"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"4711\n");
    }
}
