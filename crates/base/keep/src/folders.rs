//! Where a user's files belong (XDG Base Directory Specification).

use std::env;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::host;

/// `$VARIABLE/thrashlab`, else `~/UNDER_HOME/thrashlab`; relative paths are ignored, as specified.
pub fn user_folder(variable: &str, under_home: &str) -> Option<PathBuf> {
    let absolute =
        |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute(variable).or_else(|| Some(absolute("HOME")?.join(under_home)))?;
    Some(folder.join("thrashlab"))
}

/// This user's state: `$XDG_STATE_HOME/thrashlab`, `~/.local/state/thrashlab`, or in `/var/tmp`
/// where there is no home or it may not be written.
pub(crate) fn state_root() -> PathBuf {
    let is_named = env::var_os("XDG_STATE_HOME").is_some_and(|path| Path::new(&path).is_absolute());
    user_folder("XDG_STATE_HOME", ".local/state")
        .filter(|folder| is_named || may_be_made(folder))
        .unwrap_or_else(|| PathBuf::from(format!("/var/tmp/thrashlab-state-{}", host::user_id())))
}

/// Whether a folder is there or can be made: what exists of its path is a folder that this user may
/// write.
fn may_be_made(folder: &Path) -> bool {
    let existing = folder.ancestors().find(|path| path.exists());
    existing.is_some_and(|path| path.is_dir() && access(path, Access::WRITE_OK).is_ok())
}

/// The state of this machine: journals and the spool. Machines may share a home directory.
pub fn state_dir() -> PathBuf {
    state_root().join(host::machine())
}

/// Makes a folder that only this user may enter, and those above it, unless it exists.
pub fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_may_be_made_below_one_and_not_below_a_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        assert!(may_be_made(folder.path()));
        assert!(may_be_made(&folder.path().join("a/b/c")));
        assert!(!may_be_made(&folder.path().join("file/b")));
    }
}
