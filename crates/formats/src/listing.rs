//! What is in a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The paths of all entries, by name. Fails when the folder is unreadable.
pub(crate) fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?;
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.map(|it| it.path())).collect::<io::Result<_>>()?;
    found.sort();
    Ok(found)
}
