//! Errors of the store.

use std::io;
use std::path::PathBuf;

use formats::Refusal;
use model::RunError;

pub(crate) type Result<T> = std::result::Result<T, StoreError>;

/// An item of the store that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused a file or folder.
    #[error("{0}: {1}")]
    Io(PathBuf, #[source] io::Error),
    /// Not a run file: what is wrong with it, with its line.
    #[error("{0}: {1}")]
    Run(PathBuf, #[source] RunError),
    /// A folder without runs.
    #[error("{0}: no run file (*.run.jsonl) in this folder")]
    Empty(PathBuf),
    /// Anything else: source, place and reason.
    #[error("{0}")]
    Refused(String),
}

impl StoreError {
    /// Wraps the system's error for a path.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |error| Self::Io(path, error)
    }

    pub(crate) fn refused(name: impl Into<String>) -> impl FnOnce(Refusal) -> Self {
        let name = name.into();
        move |refusal| Self::Refused(format!("{name}: {refusal}"))
    }
}
