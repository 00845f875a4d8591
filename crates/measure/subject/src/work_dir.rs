//! The work directory for files of loads and probes, used by one invocation at a time.

use std::fmt::Display;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use keep::Lock;
use keep::folders::make_private;
use keep::host::{machine, user_id};

const LOCK: &str = "thrashlab.lock";
const LOCK_BEGIN: &str = "thrashlab lock: ";

pub(crate) fn unusable<E: Display>(path: &Path) -> impl Fn(E) -> String + Copy {
    move |why| {
        format!(
            "the work directory {} cannot be used: {why}; name another one on a disk with \
             --work-dir DIR",
            path.display()
        )
    }
}

#[derive(Debug)]
pub(crate) struct WorkDir {
    pub(crate) path: PathBuf,
    _lock: Lock,
}

impl WorkDir {
    /// The default directory: on a disk, not in memory.
    pub(crate) fn open_default() -> Result<Self, String> {
        let path = PathBuf::from(format!("/var/tmp/thrashlab-{}", user_id()));
        let made = DirBuilder::new().mode(0o700).create(&path);
        // In a world-writable folder the name may be another user's trap.
        let own = fs::symlink_metadata(&path)
            .is_ok_and(|facts| facts.is_dir() && facts.uid() == user_id());
        match made {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(unusable(&path)(error))
            }
            _ if !own => Err(unusable(&path)("it is not a folder of this user")),
            _ => Self::open(&path),
        }
    }

    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        make_private(path).map_err(unusable(path))?;
        // The journal needs an absolute path.
        let path = fs::canonicalize(path).map_err(unusable(path))?;
        let note = format!("process {} on {}", std::process::id(), machine());
        match Lock::take(&path.join(LOCK), LOCK_BEGIN, &note).map_err(unusable(&path))? {
            Ok(lock) => Ok(Self { path, _lock: lock }),
            Err(holder) => Err(format!(
                "the work directory {} is in use by {}: two runs at once would measure each other; \
                 wait for it, or stop it; --work-dir DIR runs next to it nevertheless",
                path.display(),
                if holder.is_empty() { "another run" } else { &holder }
            )),
        }
    }

    pub(crate) fn free_bytes(&self) -> Result<u64, String> {
        let space = rustix::fs::statvfs(&self.path).map_err(unusable(&self.path))?;
        Ok(space.f_bavail.saturating_mul(space.f_frsize))
    }

    /// Whether it is in memory, so that writes never reach a disk.
    pub(crate) fn in_memory(&self) -> bool {
        const TMPFS_MAGIC: i64 = 0x0102_1994;
        #[expect(clippy::useless_conversion, reason = "the type differs between architectures")]
        rustix::fs::statfs(&self.path)
            .is_ok_and(|facts| i64::try_from(facts.f_type).is_ok_and(|kind| kind == TMPFS_MAGIC))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_in_one_directory_is_refused_with_the_holder() {
        let dir = tempfile::tempdir().unwrap();
        let first = WorkDir::open(dir.path()).unwrap();
        let error = WorkDir::open(dir.path()).unwrap_err();
        assert!(error.contains(&format!("in use by process {}", std::process::id())), "{error}");
        drop(first);
        WorkDir::open(dir.path()).unwrap();
    }

    #[test]
    fn an_unusable_directory_names_the_next_step() {
        let error = WorkDir::open(Path::new("/proc/nowhere")).unwrap_err();
        assert!(error.contains("/proc/nowhere") && error.contains("--work-dir"), "{error}");
    }
}
