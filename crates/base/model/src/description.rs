//! Descriptions in TOML: parsed into types, with errors that have the place in the text.

use std::fmt::Display;
use std::ops::Range;

use serde::de::DeserializeOwned;
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What is wrong in a description, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct DescriptionError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, and the remedy.
    pub reason: String,
}

impl DescriptionError {
    fn at(text: &str, span: Option<Range<usize>>, reason: String) -> Self {
        let offset = span.map_or(0, |span| span.start);
        let before = text.get(..offset).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
            reason,
        }
    }
}

/// The text of a description, in which values are named by paths: `mmu.pmegs`, `tlb.0.ways`.
#[derive(Clone, Copy, Debug)]
pub struct Description<'a>(pub &'a str);

impl Description<'_> {
    /// Parses it into a type. Fails with the place of what does not fit.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, DescriptionError> {
        toml::from_str(self.0)
            .map_err(|error| DescriptionError::at(self.0, error.span(), error.message().to_owned()))
    }

    /// Refuses the value at a path; if absent, the error is at its surroundings.
    pub fn refuse<T>(&self, path: &str, reason: impl Display) -> Result<T, DescriptionError> {
        Err(DescriptionError::at(self.0, span(self.0, path), reason.to_string()))
    }

    /// Fails at a path's value unless the condition holds.
    pub fn that(
        &self,
        path: &str,
        holds: bool,
        reason: impl Display,
    ) -> Result<(), DescriptionError> {
        if holds { Ok(()) } else { self.refuse(path, reason) }
    }

    /// Fails if the number at a path is out of bounds.
    pub fn between<T: PartialOrd + Display>(
        &self,
        path: &str,
        number: T,
        least: T,
        most: T,
    ) -> Result<(), DescriptionError> {
        let holds = number >= least && number <= most;
        self.that(path, holds, format!("{path} = {number} is not between {least} and {most}"))
    }
}

fn span(text: &str, path: &str) -> Option<Range<usize>> {
    let root = DeTable::parse(text).ok()?;
    let root = DeValue::Table(root.into_inner());
    let (mut value, mut span) = (&root, None);
    for key in path.split('.') {
        let inner = match value {
            DeValue::Array(array) => key.parse::<usize>().ok().and_then(|index| array.get(index)),
            value => value.get(key),
        };
        let Some(inner) = inner else { break };
        span = Some(Spanned::span(inner));
        value = inner.get_ref();
    }
    span
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_at_the_value_or_at_what_is_around_it() {
        let description = Description("a = 1\n[[tlb]]\nways = 4\n[b]\nc = { d = \"ü\", e = 2 }\n");
        let place = |path| {
            let error = description.refuse::<()>(path, "no").unwrap_err();
            (error.line, error.column)
        };
        assert_eq!((place("a"), place("tlb.0.ways"), place("b.c.e")), ((1, 5), (3, 8), (5, 20)));
        assert_eq!((place("b.c.f"), place("nothing")), ((5, 5), (1, 1)));
        let error = description.between("a", 1, 2, 3).unwrap_err();
        assert_eq!(error.to_string(), "line 1, column 5: a = 1 is not between 2 and 3");
        assert_eq!(Description("x = [1,").read::<toml::Table>().unwrap_err().line, 1);
    }
}
