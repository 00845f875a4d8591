//! The files below a path, in the order of their names.

use std::fs;
use std::path::{Path, PathBuf};

use super::at;

pub(super) fn entries(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).map_err(at("read", dir))? {
        paths.push(entry.map_err(at("read", dir))?.path());
    }
    paths.sort();
    Ok(paths)
}

/// A path and all below it, folders before what they hold; links are not followed.
pub(super) fn all(path: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        let facts = fs::symlink_metadata(&path).map_err(at("look at", &path))?;
        if facts.is_dir() {
            left.extend(entries(&path)?.into_iter().rev());
        }
        found.push(path);
    }
    Ok(found)
}

/// The ordinary files among them.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    Ok(all(path)?.into_iter().filter(|path| path.is_file()).collect())
}
