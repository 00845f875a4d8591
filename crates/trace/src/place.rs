//! Where something stands in a trace file, and errors that say so.

use std::fmt;

use thiserror::Error;

/// Where something stands in a trace file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The description at the beginning of a trace.
    Header,
    /// A line, from 1.
    Line(u64),
    /// A byte, from 0.
    Byte(u64),
    /// A block of a trace.
    Block {
        /// Its number, from 0.
        number: u64,
        /// Where it begins, from 0.
        byte: u64,
    },
    /// The index at the end of a trace.
    Index {
        /// Where it begins, from 0.
        byte: u64,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => formatter.write_str("header"),
            Self::Line(line) => write!(formatter, "line {line}"),
            Self::Byte(byte) => write!(formatter, "byte {byte}"),
            Self::Block { number, byte } => write!(formatter, "block {number} at byte {byte}"),
            Self::Index { byte } => write!(formatter, "index at byte {byte}"),
        }
    }
}

/// Why a trace cannot be read.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It is not what it should be.
    #[error("{place}: {reason}")]
    Bad {
        /// Where: `line 3`, `byte 4096`, `block 7 at byte 81920`.
        place: String,
        /// What is wrong there, and what to do.
        reason: String,
    },
}

impl TraceError {
    /// An error at a place.
    pub fn bad(place: &Place, reason: impl Into<String>) -> Self {
        Self::Bad { place: place.to_string(), reason: reason.into() }
    }
}
