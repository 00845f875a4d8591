//! What a parser says about a text that it cannot read: where, and why.

use std::fmt;

/// A counter file that is not in its format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, {place}: {reason}")]
pub struct ParseError {
    /// Number of the line, from 1.
    pub line: usize,
    /// Where in the line.
    pub place: Place,
    /// What is wrong there.
    pub reason: Reason,
}

/// Where in a line something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Column in bytes, from 1.
    Column(usize),
    /// The field that should have been there.
    Field(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(column) => write!(formatter, "column {column}"),
            Self::Field(field) => write!(formatter, "field {field}"),
        }
    }
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Nothing at all.
    #[error("the file is empty")]
    Empty,
    /// A field that every kernel writes is not there.
    #[error("missing")]
    Missing,
    /// Something else stands where a counter's name must stand.
    #[error("{0:?} is not the name of a counter")]
    NotAName(String),
    /// Something else stands where a number from 0 to 2^64 − 1 must stand.
    #[error("{0:?} is not a counter value")]
    NotANumber(String),
    /// Something else stands where a column of a format must stand.
    #[error("{found:?} is not {wanted}")]
    Unfit {
        /// What stands there.
        found: String,
        /// What must stand there.
        wanted: &'static str,
    },
    /// More text than the format has room for.
    #[error("{0:?} is more than the format has room for")]
    Surplus(String),
}

impl ParseError {
    /// An error at a column (from 1).
    pub(super) fn at(line: usize, column: usize, reason: Reason) -> Self {
        Self { line, place: Place::Column(column), reason }
    }

    /// A field that is not there.
    pub(super) fn missing(line: usize, field: &'static str) -> Self {
        Self { line, place: Place::Field(field), reason: Reason::Missing }
    }

    /// A text without anything in it.
    pub(super) fn empty() -> Self {
        Self::at(1, 1, Reason::Empty)
    }
}
