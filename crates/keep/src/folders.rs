//! Where a user's files belong (XDG Base Directory Specification).

use std::env;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::host;

/// `$VARIABLE/thrashlab`, else `~/UNDER_HOME/thrashlab`; relative paths are ignored, as specified.
pub fn user_folder(variable: &str, under_home: &str) -> Option<PathBuf> {
    let absolute =
        |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute(variable).or_else(|| Some(absolute("HOME")?.join(under_home)))?;
    Some(folder.join("thrashlab"))
}

/// This user's state: `$XDG_STATE_HOME/thrashlab`, `~/.local/state/thrashlab`, or in `/var/tmp`.
pub(crate) fn state_root() -> PathBuf {
    user_folder("XDG_STATE_HOME", ".local/state")
        .unwrap_or_else(|| PathBuf::from(format!("/var/tmp/thrashlab-state-{}", host::user_id())))
}

/// The state of this machine: journals and the spool. Machines may share a home directory.
pub fn state_dir() -> PathBuf {
    state_root().join(host::machine())
}

/// Makes a folder that only this user may enter, and those above it, unless it exists.
pub fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
