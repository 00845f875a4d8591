//! Where a user's files of one kind belong (XDG Base Directory Specification).

use std::env;
use std::path::PathBuf;

/// The folder of the project's name.
const NAME: &str = "thrashlab";

/// `$VARIABLE/thrashlab`, else `~/UNDER_HOME/thrashlab`; `None` without either. A relative path
/// counts as none, as the specification wants it.
#[must_use]
pub fn user_folder(variable: &str, under_home: &str) -> Option<PathBuf> {
    let absolute =
        |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute(variable).or_else(|| Some(absolute("HOME")?.join(under_home)))?;
    Some(folder.join(NAME))
}
