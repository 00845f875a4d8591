//! What can go wrong between the name of a root and its archive.

use std::io;
use std::path::{Path, PathBuf};

/// A root that cannot be used, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// The system refused.
    #[error("root {path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// The cache cannot be written.
    #[error("{path}: {source}")]
    Cache {
        /// The file or folder.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// The name is invalid, a program is missing, or the content is damaged; with the next step.
    #[error("root {name}: {why}")]
    Unfit {
        /// The root as typed, or the damaged file.
        name: String,
        /// The reason.
        why: String,
    },
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl RootError {
    /// For `map_err`: an error at this path of the root.
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path: path.clone(), source }
    }

    /// For `map_err`: an error at this path of the cache.
    pub(crate) fn cache(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Cache { path: path.clone(), source }
    }

    /// A root or a file of it that cannot be used.
    pub(crate) fn unfit(name: impl ToString, why: impl ToString) -> Self {
        Self::Unfit { name: name.to_string(), why: why.to_string() }
    }
}
