//! Where a user's files of one kind belong (XDG Base Directory Specification).

use std::env;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::host;

/// The folder of the project's name.
const NAME: &str = "thrashlab";

/// `$VARIABLE/thrashlab`, else `~/UNDER_HOME/thrashlab`; `None` without either. A relative path
/// counts as none, as the specification wants it.
pub fn user_folder(variable: &str, under_home: &str) -> Option<PathBuf> {
    let absolute =
        |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute(variable).or_else(|| Some(absolute("HOME")?.join(under_home)))?;
    Some(folder.join(NAME))
}

/// The state of all machines of this user, a folder a machine: `$XDG_STATE_HOME/thrashlab`,
/// `~/.local/state/thrashlab`, or without a home directory a folder of this user in `/var/tmp`.
pub(crate) fn state_root() -> PathBuf {
    user_folder("XDG_STATE_HOME", ".local/state")
        .unwrap_or_else(|| PathBuf::from(format!("/var/tmp/thrashlab-state-{}", host::user_id())))
}

/// The state of this machine: journals and the spool. A home directory may be common to several
/// machines, which must not remove what the others have made.
pub fn state_dir() -> PathBuf {
    state_root().join(host::machine())
}

/// What is missing already is removed: cleanup process and next start may work at the same time.
pub(crate) fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Makes a folder that only this user may enter, and those above it, unless it is there.
pub fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
