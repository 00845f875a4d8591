//! Errors between two machines: what, where, and the next step.

use std::io;

/// A run that cannot be executed on another machine.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// What went wrong, on which machine, and the next step.
    #[error("{0}")]
    Failed(String),
    /// The results cannot be written.
    #[error(
        "the results cannot be written: {0}; name a folder with enough space with --output DIR"
    )]
    Results(io::Error),
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}
