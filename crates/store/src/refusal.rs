//! A text that is not taken, with where and why.

use std::fmt;

/// A text that was not taken, with where and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refusal {
    /// Number of the line, from 1; `None` if it is about the text as a whole.
    pub line: Option<usize>,
    /// The column: its number, from 1, and its name if it has one.
    pub column: Option<String>,
    /// What is wrong, and the next step.
    pub reason: String,
}

impl Refusal {
    pub(crate) fn whole(reason: impl Into<String>) -> Self {
        Self { line: None, column: None, reason: reason.into() }
    }

    pub(crate) fn line(line: usize, reason: impl Into<String>) -> Self {
        Self { line: Some(line), column: None, reason: reason.into() }
    }

    pub(crate) fn cell(line: usize, column: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { line: Some(line), column: Some(column.into()), reason: reason.into() }
    }

    /// What the JSON parser refused.
    pub(crate) fn json(error: &serde_json::Error) -> Self {
        Self::cell(error.line(), error.column().to_string(), error.to_string())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match (self.line, &self.column) {
            (Some(line), Some(column)) => write!(formatter, "line {line}, column {column}: ")?,
            (Some(line), None) => write!(formatter, "line {line}: ")?,
            (None, _) => {}
        }
        formatter.write_str(&self.reason)
    }
}
