//! CSV tables with a heading row, by line and column.

use std::collections::BTreeMap;
use std::fmt::Display;

use ::csv::{ErrorKind, ReaderBuilder, Trim};

use crate::error::Refusal;

/// Rows have their line numbers, and as many cells as the heading.
pub(crate) struct Table {
    pub(crate) names: Vec<String>,
    pub(crate) rows: Vec<(usize, Vec<String>)>,
}

impl Table {
    pub(crate) fn read(text: &str) -> Result<Self, Refusal> {
        let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text.as_bytes());
        let names = reader.headers().map_err(refusal)?;
        let names: Vec<String> = names.iter().map(str::to_owned).collect();
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(refusal)?;
            let line = record.position().map_or(0, |position| position.line() as usize);
            rows.push((line, record.iter().map(str::to_owned).collect()));
        }
        Ok(Self { names, rows })
    }

    pub(crate) fn refused(&self, line: usize, column: usize, why: impl Display) -> Refusal {
        Refusal::cell(line, format!("{} ({})", column + 1, self.names[column]), why)
    }

    pub(crate) fn column(&self, name: &str) -> Result<usize, Refusal> {
        self.names.iter().position(|it| it == name).ok_or_else(|| {
            Refusal::line(1, format!("no column {name:?}; choose from {}", self.names.join(", ")))
        })
    }
}

fn refusal(error: ::csv::Error) -> Refusal {
    let reason = match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} cells, where the heading has {expected_len}")
        }
        ErrorKind::Utf8 { .. } => "not UTF-8".to_owned(),
        _ => error.to_string(),
    };
    match error.position() {
        Some(position) => Refusal::line(position.line() as usize, reason),
        None => Refusal::whole(reason),
    }
}

/// Whether a column name has this suffix, after a `_` or as the whole name.
pub(crate) fn ends_in(name: &str, ending: &str) -> bool {
    name.strip_suffix(ending).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
}

#[derive(Default)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) key: Key,
    pub(super) part: Option<String>,
    /// All responses; empty where not published.
    pub(super) texts: Vec<(String, String)>,
}

#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) levels: BTreeMap<String, String>,
    /// The trial column, else a number within equal levels and part.
    pub(super) trial: String,
    pub(super) block: Option<u64>,
    pub(super) seed: Option<u64>,
}
