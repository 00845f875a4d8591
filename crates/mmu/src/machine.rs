//! Machines by name or file: what kind one is, and errors with the place where they are.

use std::fmt::Display;
use std::ops::Range;

use serde::de::DeserializeOwned;
use thiserror::Error;
use toml::Spanned;

use crate::{sun4, tlb};

/// A machine that can be simulated.
#[derive(Clone, Debug, PartialEq)]
pub enum Machine {
    /// Page tables in a fixed store of groups.
    Sun4(Box<sun4::Machine>),
    /// Translation look-aside buffers and page walks.
    Tlb(Box<tlb::Machine>),
}

/// What is wrong in a machine's description, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct MachineError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, and what to do.
    pub reason: String,
}

impl MachineError {
    /// An error at a place of a text; without one, at its beginning.
    #[must_use]
    pub fn at(text: &str, span: Option<Range<usize>>, reason: impl Into<String>) -> Self {
        let offset = span.map_or(0, |span| span.start);
        let before = text.get(..offset).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
            reason: reason.into(),
        }
    }
}

/// Refuses what is out of bounds in a description, at its place.
pub(crate) struct Checks<'a> {
    pub(crate) text: &'a str,
}

impl Checks<'_> {
    /// Refuses a value unless something holds.
    pub(crate) fn that<T>(
        &self,
        value: &Spanned<T>,
        holds: bool,
        reason: impl Display,
    ) -> Result<(), MachineError> {
        if holds { Ok(()) } else { Err(self.at(value, reason)) }
    }

    /// Refuses a number that is out of bounds.
    pub(crate) fn between<T: PartialOrd + Display>(
        &self,
        name: &str,
        value: &Spanned<T>,
        least: T,
        most: T,
    ) -> Result<(), MachineError> {
        let number = value.get_ref();
        let reason = format!("{name} = {number} is not between {least} and {most}");
        self.that(value, *number >= least && *number <= most, reason)
    }

    /// What is wrong with a value.
    pub(crate) fn at<T>(&self, value: &Spanned<T>, reason: impl Display) -> MachineError {
        MachineError::at(self.text, Some(value.span()), reason.to_string())
    }
}

/// Reads TOML into a type.
///
/// # Errors
/// What does not fit, and where.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, MachineError> {
    toml::from_str(text).map_err(|error| MachineError::at(text, error.span(), error.message()))
}

impl Machine {
    /// Reads a description; its `kind` says which kind of machine it is.
    ///
    /// # Errors
    /// What is wrong in it, and where.
    pub fn parse(text: &str) -> Result<Self, MachineError> {
        let table: toml::Table = read(text)?;
        match table.get("kind").and_then(toml::Value::as_str) {
            Some("sun4") => sun4::Machine::parse(text).map(|machine| Self::Sun4(Box::new(machine))),
            Some("tlb") => tlb::Machine::parse(text).map(|machine| Self::Tlb(Box::new(machine))),
            Some(other) => {
                let reason = format!("no kind of machine is named {other:?}; there are sun4, tlb");
                Err(MachineError::at(text, text.find("kind").map(|at| at..at), reason))
            }
            None => Err(MachineError::at(text, None, "kind = \"sun4\" or \"tlb\" is missing")),
        }
    }

    /// The machines that come with thrashlab: names and descriptions.
    pub fn shipped() -> impl Iterator<Item = (&'static str, &'static str)> {
        sun4::MACHINES.iter().chain(tlb::MACHINES).copied()
    }
}
