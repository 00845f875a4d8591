//! Why a text was refused.

use std::fmt::Display;

/// A refused text: line and column from 1 where known, the problem and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

impl Refusal {
    /// A problem of the whole text.
    pub fn whole(reason: impl Display) -> Self {
        Self(reason.to_string())
    }

    /// A problem of a line.
    pub fn line(line: usize, reason: impl Display) -> Self {
        Self(format!("line {line}: {reason}"))
    }

    /// A problem of a column of a line.
    pub fn cell(line: usize, column: impl Display, reason: impl Display) -> Self {
        Self(format!("line {line}, column {column}: {reason}"))
    }
}
