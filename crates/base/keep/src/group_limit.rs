//! A limit of a control group that is not ours, lowered for a run and restored after it.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::io_results::at;

/// A limit that was lowered, and what it was before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupLimit {
    /// The limit's file, such as `memory.high`.
    path: PathBuf,
    before: String,
    /// As the kernel shows it.
    set: String,
}

impl GroupLimit {
    /// The limit in this file, to be lowered to so many bytes, in whole pages; `None` if it is not higher. Fails when
    /// it cannot be read.
    pub(crate) fn planned(path: &Path, bytes: u64) -> io::Result<Option<Self>> {
        let before = read(path)?;
        // `max` is not a number.
        let is_higher = before.parse::<u64>().map_or(true, |now| now > bytes);
        // As the kernel rounds it: whatever ends this process after the change finds it again.
        let bytes = bytes - bytes % sys::pagemap::page_bytes();
        let (path, set) = (path.to_owned(), bytes.to_string());
        Ok(is_higher.then_some(Self { path, before, set }))
    }

    pub(crate) fn set(&self) -> io::Result<()> {
        write(&self.path, &self.set)
    }

    /// With the value as the kernel shows it: whole pages.
    pub(crate) fn as_made(&self) -> io::Result<Self> {
        Ok(Self { set: read(&self.path)?, ..self.clone() })
    }

    /// Restores the limit unless it was changed since, or its group is gone; returns whether it did.
    pub(crate) fn put_back(&self) -> io::Result<bool> {
        match read(&self.path) {
            Ok(now) if now == self.set => write(&self.path, &self.before).map(|()| true),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(false),
        }
    }
}

impl fmt::Display for GroupLimit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} (before: {})", self.path.display(), self.before)
    }
}

fn read(path: &Path) -> io::Result<String> {
    let text = fs::read_to_string(path).map_err(at(format_args!("read {}", path.display())))?;
    Ok(text.trim().to_owned())
}

fn write(path: &Path, value: &str) -> io::Result<()> {
    fs::write(path, value).map_err(|error| {
        let next = match error.kind() {
            io::ErrorKind::PermissionDenied => "; it needs root, or a group that is delegated",
            io::ErrorKind::ResourceBusy => "; the group has more memory than can be reclaimed",
            _ => "",
        };
        io::Error::new(error.kind(), format!("write {value} to {}: {error}{next}", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_only_lowered_and_what_was_changed_since_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory.high");
        fs::write(&path, "4096\n").unwrap();
        assert_eq!(GroupLimit::planned(&path, 4096).unwrap(), None);
        assert_eq!(GroupLimit::planned(&path, 8192).unwrap(), None);
        for before in ["max", "8192"] {
            fs::write(&path, before).unwrap();
            let limit = GroupLimit::planned(&path, 4096).unwrap().unwrap();
            limit.set().unwrap();
            let limit = limit.as_made().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "4096");
            assert!(limit.put_back().unwrap());
            assert_eq!(fs::read_to_string(&path).unwrap(), before);
            assert!(!limit.put_back().unwrap(), "an administrator may have set it");
        }
        let limit = GroupLimit::planned(&path, 0).unwrap().unwrap();
        fs::remove_file(&path).unwrap();
        assert!(!limit.put_back().unwrap(), "its group is gone");
        assert!(GroupLimit::planned(&path, 0).is_err());
    }
}
