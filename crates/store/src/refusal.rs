//! Refused texts.

use std::fmt::Display;

/// A refused text: line and column from 1 where known, the problem and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub(crate) String);

impl Refusal {
    pub(crate) fn whole(reason: impl Display) -> Self {
        Self(reason.to_string())
    }

    pub(crate) fn line(line: usize, reason: impl Display) -> Self {
        Self(format!("line {line}: {reason}"))
    }

    pub(crate) fn cell(line: usize, column: impl Display, reason: impl Display) -> Self {
        Self(format!("line {line}, column {column}: {reason}"))
    }

    pub(crate) fn json(error: &serde_json::Error) -> Self {
        Self::cell(error.line(), error.column(), error)
    }
}
