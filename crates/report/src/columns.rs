//! Plain text tables with aligned columns.

use model::shown::one_line;

/// Rows of cells as aligned text, one line a row, two blanks between columns.
///
/// A column is right-aligned if every cell below the first row is a number, empty or `-`, and
/// left-aligned otherwise; the first row is the heading and follows its column. No line has
/// blanks at its end. Rows may have different lengths.
#[must_use]
pub fn aligned<S: AsRef<str>>(rows: &[Vec<S>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let columns: Vec<Column> = (0..count).map(|index| Column::of(rows, index)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (index, (cell, column)) in row.iter().zip(&columns).enumerate() {
            if index > 0 {
                line.push_str("  ");
            }
            let (cell, width) = (one_line(cell.as_ref()), column.width);
            if column.numbers {
                line.push_str(&format!("{cell:>width$}"));
            } else {
                line.push_str(&format!("{cell:<width$}"));
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Columns of a terminal.
const COLUMNS: usize = 80;

/// A text in lines of at most 80 letters, broken between words, the first with an indent and the
/// others with theirs. Ends in a newline.
pub(crate) fn wrapped(text: &str, first: &str, others: &str) -> String {
    let letters = |text: &str| text.chars().count();
    let (mut lines, mut line, mut is_begun) = (String::new(), first.to_owned(), false);
    for word in text.split_whitespace() {
        if is_begun && letters(&line) + 1 + letters(word) > COLUMNS {
            lines += &format!("{line}\n");
            (line, is_begun) = (others.to_owned(), false);
        }
        if is_begun {
            line.push(' ');
        }
        line += word;
        is_begun = true;
    }
    lines + &format!("{line}\n")
}

/// Rows of cells as text with all columns to the right, as [`aligned`] otherwise: for figures that
/// have units.
pub(crate) fn to_the_right<S: AsRef<str>>(rows: &[Vec<S>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |index: usize| {
        let cells = rows.iter().filter_map(|row| row.get(index));
        cells.map(|cell| cell.as_ref().chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |row: &Vec<S>| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> =
            cells.map(|(cell, width)| format!("{:>width$}", one_line(cell.as_ref()))).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// Width and kind of one column.
struct Column {
    width: usize,
    numbers: bool,
}

impl Column {
    fn of<S: AsRef<str>>(rows: &[Vec<S>], index: usize) -> Self {
        let cells = || rows.iter().filter_map(|row| row.get(index).map(AsRef::as_ref));
        let width = cells().map(|cell| cell.chars().count()).max().unwrap_or(0);
        let numbers =
            cells().skip(1).all(|cell| matches!(cell, "" | "-") || cell.parse::<f64>().is_ok());
        Self { width, numbers }
    }
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
