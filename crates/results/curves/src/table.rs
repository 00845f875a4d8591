//! CSV tables with a heading row, by line and column.

use std::fmt::Display;

use ::csv::{ErrorKind, ReaderBuilder, Trim};

use crate::refusal::Refusal;

/// A table. Rows have their line numbers, and as many cells as the heading.
pub struct Table {
    /// The heading.
    pub names: Vec<String>,
    /// Line number and cells of each row.
    pub rows: Vec<(usize, Vec<String>)>,
}

impl Table {
    /// Reads a table. Fails with the line of what is not CSV, or has too many or too few cells.
    pub fn read(text: &str) -> Result<Self, Refusal> {
        let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text.as_bytes());
        let names = reader.headers().map_err(refusal)?;
        let names: Vec<String> = names.iter().map(str::to_owned).collect();
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(refusal)?;
            let line = record.position().map_or(0, |position| {
                // The position is before line ends that precede the row.
                let rest = text.as_bytes().get(position.byte() as usize..).unwrap_or_default();
                let ends = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
                position.line() as usize + ends.filter(|byte| **byte == b'\n').count()
            });
            rows.push((line, record.iter().map(str::to_owned).collect()));
        }
        Ok(Self { names, rows })
    }

    /// The refusal of a cell.
    pub fn refused(&self, line: usize, column: usize, why: impl Display) -> Refusal {
        Refusal::cell(line, format!("{} ({})", column + 1, self.names[column]), why)
    }

    /// The column of this name. Fails with the names there are.
    pub fn column(&self, name: &str) -> Result<usize, Refusal> {
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
pub fn ends_in(name: &str, ending: &str) -> bool {
    name.strip_suffix(ending).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_their_lines_whatever_ends_a_line() {
        for text in ["a,b\n1,2\n\n3,4\n", "a,b\r\n1,2\r\n\r\n3,4\r\n"] {
            let Ok(table) = Table::read(text) else { panic!("{text:?} is not read") };
            let lines: Vec<usize> = table.rows.iter().map(|(line, _)| *line).collect();
            assert_eq!(lines, [2, 4], "{text:?}");
        }
    }
}
