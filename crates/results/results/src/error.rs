//! Errors of reading and writing results.

use std::io;
use std::path::PathBuf;

use model::RunError;

/// Results that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
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

impl ResultsError {
    /// Wraps the system's error for a path.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |error| Self::Io(path, error)
    }
}
