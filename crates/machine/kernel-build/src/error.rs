//! What can go wrong between a source and a kernel.

use std::io;
use std::path::{Path, PathBuf};

use kernels::KernelError;

/// A kernel that was not built, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// This state of the source cannot be built; others may.
    #[error("{0}")]
    Broken(String),
    /// Nothing can be built: a source, a series, a configuration or a program is missing or wrong.
    #[error("{0}")]
    Unusable(String),
    /// A package of Debian is not available.
    #[error(transparent)]
    Package(#[from] KernelError),
    /// The user stopped it.
    #[error("stopped")]
    Interrupted,
}

/// Short for results of this crate.
pub(crate) type Result<T, E = BuildError> = std::result::Result<T, E>;

impl BuildError {
    /// For `map_err`: an I/O error at this path.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
