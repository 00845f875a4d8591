//! The work directory: where the files of loads and probes go, for one invocation at a time.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::journal::user_id;

/// Name of the file on which the lock is taken.
const LOCK: &str = "thrashlab.lock";
/// How its text begins; who holds it follows.
const LOCK_BEGIN: &str = "thrashlab lock: ";
/// Longest text that is read, in bytes.
const MOST_LOCK_BYTES: u64 = 4096;

/// A work directory that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WorkDirError {
    /// It cannot be made or written.
    #[error(
        "the work directory {path} cannot be used: {source}; name another one on a disk with \
         --work-dir DIR"
    )]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// Another invocation works there.
    #[error(
        "the work directory {path} is in use by {holder}: two runs at once would measure each \
         other; wait for it, or stop it"
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// Who holds it.
        holder: String,
    },
}

/// A work directory, locked by this process.
#[derive(Debug)]
pub(crate) struct WorkDir {
    path: PathBuf,
    _lock: File,
}

impl WorkDir {
    /// The directory that is used by default: on a disk, not in memory.
    pub(crate) fn open_default() -> Result<Self, WorkDirError> {
        let path = PathBuf::from(format!("/var/tmp/thrashlab-{}", user_id()));
        let made = DirBuilder::new().mode(0o700).create(&path);
        // Everybody may write there: a folder of this name may be somebody else's trap.
        let own = fs::symlink_metadata(&path)
            .is_ok_and(|facts| facts.is_dir() && facts.uid() == user_id());
        match made {
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                Err(WorkDirError::Unusable { path, source })
            }
            _ if !own => {
                let source = io::Error::other("it is not a folder of this user");
                Err(WorkDirError::Unusable { path, source })
            }
            _ => Self::open(&path),
        }
    }

    /// Makes the directory if it is missing, and locks it.
    pub(crate) fn open(path: &Path) -> Result<Self, WorkDirError> {
        let unusable = |source| WorkDirError::Unusable { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
        // The journal is read by processes of other working directories.
        let path = &fs::canonicalize(path).map_err(unusable)?;
        match lock(&path.join(LOCK)).map_err(unusable)? {
            Lock::Taken(lock) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Lock::HeldBy(holder) => Err(WorkDirError::InUse { path: path.to_owned(), holder }),
        }
    }

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Free space that this user may fill, in bytes.
    pub(crate) fn free_bytes(&self) -> Result<u64, WorkDirError> {
        let space = rustix::fs::statvfs(&self.path).map_err(|error| self.unusable(error.into()))?;
        Ok(space.f_bavail.saturating_mul(space.f_frsize))
    }

    /// That the directory cannot be used.
    pub(crate) fn unusable(&self, source: io::Error) -> WorkDirError {
        WorkDirError::Unusable { path: self.path.clone(), source }
    }

    /// Whether files here live in memory, where writing them cannot reach a disk.
    pub(crate) fn in_memory(&self) -> bool {
        const TMPFS_MAGIC: i64 = 0x0102_1994;
        #[expect(clippy::useless_conversion, reason = "the type differs between architectures")]
        rustix::fs::statfs(&self.path)
            .is_ok_and(|facts| i64::try_from(facts.f_type).is_ok_and(|kind| kind == TMPFS_MAGIC))
    }
}

/// What came of asking for the lock.
enum Lock {
    Taken(File),
    HeldBy(String),
}

/// Takes the lock of a work directory, and writes down who has it. A file of its name that
/// thrashlab did not write stays as it is.
fn lock(path: &Path) -> io::Result<Lock> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)?;
    let mut text = Vec::new();
    io::Read::by_ref(&mut file).take(MOST_LOCK_BYTES).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let holder = match text.strip_prefix(LOCK_BEGIN) {
        Some(holder) => holder.trim(),
        None if text.is_empty() => "another run",
        None => {
            let text = format!("{} is no lock of thrashlab's, and stays as it is", path.display());
            return Err(io::Error::other(text));
        }
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(Lock::HeldBy(holder.to_owned())),
        Err(TryLockError::Error(error)) => return Err(error),
        Ok(()) => {}
    }
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{LOCK_BEGIN}process {} on {}", std::process::id(), sys::host::machine())?;
    Ok(Lock::Taken(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_in_one_directory_is_refused_with_the_holder() {
        let dir = tempfile::tempdir().unwrap();
        let first = WorkDir::open(dir.path()).unwrap();
        let error = WorkDir::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("in use by process {}", std::process::id())), "{error}");
        drop(first);
        WorkDir::open(dir.path()).unwrap();
    }

    #[test]
    fn a_file_that_thrashlab_did_not_write_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["lock", LOCK] {
            fs::write(dir.path().join(name), "4711\n").unwrap();
            match WorkDir::open(dir.path()) {
                Ok(_) => assert_eq!(name, "lock"),
                Err(error) => assert!(error.to_string().contains("thrashlab.lock is no lock")),
            }
            assert_eq!(fs::read(dir.path().join(name)).unwrap(), b"4711\n");
        }
    }

    #[test]
    fn an_unusable_directory_names_the_next_step() {
        let error = WorkDir::open(Path::new("/proc/nowhere")).unwrap_err().to_string();
        assert!(error.contains("/proc/nowhere") && error.contains("--work-dir"), "{error}");
    }
}
