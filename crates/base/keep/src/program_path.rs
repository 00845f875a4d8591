//! Where a program is that is started by its name alone.

use std::env;
use std::path::PathBuf;

/// The first file of this name in the folders of `PATH`; without a `PATH` there is none.
pub fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
