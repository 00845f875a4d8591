//! Errors of the store.

use std::io;
use std::path::PathBuf;

use model::RunError;

use crate::refusal::Refusal;

/// An item of the store that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Not a run file.
    #[error("{path}: {source}")]
    Run {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with its line.
        source: RunError,
    },
    /// A folder without runs.
    #[error("{path}: no run file (*.run.jsonl) in this folder")]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// Anything else: source, place and reason.
    #[error("{0}")]
    Refused(String),
}

impl StoreError {
    /// Wraps the system's error for a path.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Io { path, source }
    }

    pub(crate) fn refused(name: impl Into<String>) -> impl FnOnce(Refusal) -> Self {
        let name = name.into();
        move |refusal| Self::Refused(format!("{name}: {refusal}"))
    }
}
