//! The lease: one experiment at a time on a measured host. A lock on a file, which the kernel frees
//! when its holder dies, with a note who holds it.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sys::clock::realtime_ns;

/// Longest note that is read, in bytes.
const MOST_NOTE_BYTES: u64 = 4096;

/// Who holds a lease, as far as the note says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Who; empty = the note does not say.
    pub who: String,
    /// Since when, in ns since 1970.
    pub since_unix_ns: u64,
}

impl fmt::Display for Holder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = Timestamp::from_nanosecond(i128::from(self.since_unix_ns))
            .map(|since| since.strftime("%Y-%m-%d %H:%M:%SZ").to_string());
        match (self.who.as_str(), since) {
            ("", _) => write!(out, "somebody who left no name"),
            (who, Ok(since)) => write!(out, "{who} since {since}"),
            (who, Err(_)) => write!(out, "{who}"),
        }
    }
}

/// A lease that is held; given back when dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    file: File,
}

/// What came of asking for a lease.
#[derive(Debug)]
pub(crate) enum Asked {
    Held(Lease),
    Busy(Holder),
}

impl Lease {
    /// Takes the lease if it is free.
    ///
    /// # Errors
    /// When the file cannot be used.
    pub(crate) fn take(path: &Path, who: &str) -> io::Result<Asked> {
        let mut file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Asked::Held(Self::sign(file, who)?)),
            Err(TryLockError::WouldBlock) => Ok(Asked::Busy(read_note(&mut file))),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Takes the lease, and waits for it.
    ///
    /// # Errors
    /// When the file cannot be used.
    pub(crate) fn wait(path: &Path, who: &str) -> io::Result<Self> {
        let file = open(path)?;
        file.lock()?;
        Self::sign(file, who)
    }

    fn sign(mut file: File, who: &str) -> io::Result<Self> {
        let holder = Holder { who: who.to_owned(), since_unix_ns: realtime_ns() };
        let note = serde_json::to_vec(&holder).map_err(io::Error::other)?;
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(&note)?;
        Ok(Self { file })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Nobody holds it now; the lock itself goes with the file.
        let _ = self.file.set_len(0);
    }
}

fn open(path: &Path) -> io::Result<File> {
    let no_link = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(0o600).custom_flags(no_link).open(path)
}

/// What the note says; a note that was cut off says nothing.
fn read_note(file: &mut File) -> Holder {
    let mut note = Vec::new();
    let _ = file.take(MOST_NOTE_BYTES).read_to_end(&mut note);
    serde_json::from_slice(&note).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_one_hears_who_holds_it_and_gets_it_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lease");
        let Ok(Asked::Held(first)) = Lease::take(&path, "anna@desk") else { panic!("not free") };
        let Ok(Asked::Busy(holder)) = Lease::take(&path, "bob@desk") else { panic!("free") };
        assert!(holder.to_string().starts_with("anna@desk since 20"), "{holder}");
        let waiting = std::thread::spawn({
            let path = path.clone();
            move || Lease::wait(&path, "bob@desk").unwrap()
        });
        drop(first);
        let second = waiting.join().unwrap();
        let Ok(Asked::Busy(holder)) = Lease::take(&path, "carl@desk") else { panic!("free") };
        assert_eq!(holder.who, "bob@desk");
        drop(second);
        assert!(matches!(Lease::take(&path, "carl@desk"), Ok(Asked::Held(_))));
    }

    #[test]
    fn a_note_that_cannot_be_read_is_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lease");
        let Ok(Asked::Held(_first)) = Lease::take(&path, "anna") else { panic!("not free") };
        for note in [&b""[..], b"{\"who\":", b"\xff\xfe", b"{\"who\":7}"] {
            std::fs::write(&path, note).unwrap();
            let Ok(Asked::Busy(holder)) = Lease::take(&path, "bob") else { panic!("free") };
            assert_eq!(holder.to_string(), "somebody who left no name");
        }
    }
}
