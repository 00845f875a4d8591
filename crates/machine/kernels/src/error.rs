//! What can go wrong between the name of a kernel and its modules.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// A kernel that cannot be used, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// The name leads to no kernel: no such package, no image in it, or a file of another kind.
    #[error("{0}")]
    NoKernel(String),
    /// There is a kernel, but it or a module of it is not available.
    #[error("{0}")]
    Unavailable(String),
}

impl KernelError {
    /// For `map_err`: an I/O error at this path.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    /// For `map_err`: not a supported kernel image.
    pub(crate) fn image(path: &Path) -> impl FnOnce(String) -> Self {
        move |why| Self::NoKernel(format!("{}: {why}", path.display()))
    }

    /// For `map_err`: an unreadable module.
    pub(crate) fn module<E: Display>(path: &Path) -> impl FnOnce(E) -> Self {
        let next = "the file is damaged, unpack the kernel again";
        move |why| Self::Unavailable(format!("{}: {why}; {next}", path.display()))
    }

    /// No image in a place; `hint` starts with its punctuation.
    pub(crate) fn no_image(place: impl Display, hint: &str) -> Self {
        Self::NoKernel(format!("{place}: no kernel image in it{hint}"))
    }
}
