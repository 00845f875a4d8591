//! Results of file operations: the step that failed, and what does not exist.

use std::fmt::Display;
use std::io;

/// For `map_err`: names the step that failed; the kind of the error stays.
pub fn at(step: impl Display) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{step}: {error}"))
}

/// `None` instead of an error for what does not exist.
pub(crate) fn if_exists<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Cleanup process and next start may remove at the same time: a missing file counts as removed.
pub(crate) fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    if_exists(removed).map(drop)
}
