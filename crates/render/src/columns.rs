//! Rows of plain cells as aligned text, for tables whose cells have no types.

use crate::table::{Cell, Table};
use crate::text::plain_table;
use crate::wrap::{COLUMNS, wrapped_to};

/// Rows of cells as aligned text, one line a row, two blanks between columns.
///
/// A column is right-aligned if every cell below the first row is a number, empty or `-`, and
/// left-aligned otherwise; the first row is the heading and follows its column. No line has
/// blanks at its end. Rows may have different lengths.
#[must_use]
pub fn aligned<S: AsRef<str>>(rows: &[Vec<S>]) -> String {
    table(rows, Cell::parsed)
}

/// Rows of cells as text with all columns to the right, as [`aligned`] otherwise: for figures that
/// have units.
#[must_use]
pub fn to_the_right<S: AsRef<str>>(rows: &[Vec<S>]) -> String {
    table(rows, |text| Cell::figure(text))
}

fn table<S: AsRef<str>>(rows: &[Vec<S>], cell: impl Fn(&str) -> Cell) -> String {
    let Some((head, rows)) = rows.split_first() else { return String::new() };
    let mut table = Table::new("", head.iter().map(|name| name.as_ref()));
    for row in rows {
        table.row(row.iter().map(|text| cell(text.as_ref())));
    }
    plain_table(&table)
}

/// A text in lines of at most 80 letters, broken between words, the first with an indent and the
/// others with theirs. Ends in a newline.
#[must_use]
pub fn wrapped(text: &str, first: &str, others: &str) -> String {
    wrapped_to(COLUMNS, text, first, others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_right_aligned() {
        let rows = [vec!["name", "ms", "note"], vec!["a", "1.5", "x"], vec!["bcd", "12.25", ""]];
        insta::assert_snapshot!(aligned(&rows), @r"
        name     ms  note
        a       1.5  x
        bcd   12.25
        ");
    }

    #[test]
    fn no_rows_are_no_text() {
        assert_eq!(aligned::<&str>(&[]), "");
    }
}
