//! Why a trace cannot be read or written.

use std::fmt::Display;

use thiserror::Error;

/// Why a trace cannot be read or written.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The system refuses.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It is not what it should be: where (`line 3`, `block 7 at byte 81920`), what, what to do.
    #[error("{0}")]
    Bad(String),
}

impl TraceError {
    pub(crate) fn bad(place: impl Display, reason: impl Display) -> Self {
        Self::Bad(format!("{place}: {reason}"))
    }
}
