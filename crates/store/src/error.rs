//! What is kept and cannot be read or written.

use std::io;
use std::path::PathBuf;

use model::{MANIFEST_SCHEMA, RunError};

use crate::refusal::Refusal;

/// Something kept that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system answered.
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
    /// Not a manifest.
    #[error("{path}: not the manifest of an experiment: {source}")]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// A manifest of a newer format.
    #[error(
        "{path}: schema {found} is newer than this build knows ({MANIFEST_SCHEMA}): update thrashlab"
    )]
    NewerManifest {
        /// The file.
        path: PathBuf,
        /// Schema number of the file.
        found: u32,
    },
    /// A folder that is no sweep.
    #[error("{path}: {why}")]
    NoSweep {
        /// The folder.
        path: PathBuf,
        /// What it lacks.
        why: String,
    },
    /// No published result of this name.
    #[error("no published result {name:?}; {hint}")]
    NotPublished {
        /// The name that was asked for.
        name: String,
        /// The closest names, as a sentence.
        hint: String,
    },
    /// A published result that was asked for as something that it is not.
    #[error("{name} is not {expected}")]
    OtherKind {
        /// The result's name.
        name: &'static str,
        /// What it was asked for as.
        expected: &'static str,
    },
    /// A text that was refused.
    #[error("{name}: {source}")]
    Refused {
        /// Where it comes from.
        name: String,
        /// Where in it, and why.
        source: Refusal,
    },
}

impl StoreError {
    /// What the system answered about a path.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Io { path, source }
    }

    /// The refusal of a text of this name.
    pub(crate) fn refused(name: impl Into<String>) -> impl FnOnce(Refusal) -> Self {
        let name = name.into();
        |source| Self::Refused { name, source }
    }
}
