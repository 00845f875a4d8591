//! A table as aligned columns that fit the terminal: texts wrap, further columns follow below.
//! Elsewhere a line has at most [`MOST_COLUMNS`], whatever names a file has.

use model::shown::one_line;

use crate::document::Style;
use crate::table::{Cell, Table, Tone};

const GAP: usize = 2;
/// Texts are not wrapped to less than this.
const LEAST_WIDTH: usize = 16;
/// Columns of a line where the width is unknown.
const MOST_COLUMNS: usize = 200;
/// A longer word of a cell is broken where others do not fit next to it.
const LONGEST_WORD: usize = 60;

struct Column {
    cells: Vec<(String, Tone)>,
    is_numeric: bool,
    width: usize,
}

/// The table, one line per row, or several where cells wrap.
pub(super) fn grid(table: &Table, style: &Style) -> String {
    let count = table.rows.iter().map(Vec::len).chain([table.head.len()]).max().unwrap_or(0);
    let mut columns: Vec<Column> = (0..count).map(|index| Column::of(table, index)).collect();
    let all: Vec<usize> = (0..count).collect();
    let width = style.width.unwrap_or(MOST_COLUMNS);
    let names = columns.iter().take_while(|column| !column.is_numeric).count().max(1);
    narrow(&mut columns, width);
    if total(&columns, &all) <= width {
        return part(&columns, &all, style);
    }
    let fits = |names: &usize| total(&columns, &all[..*names]) <= width / 2;
    let names = &all[..(1..=names.min(count)).rev().find(fits).unwrap_or(1).min(count)];
    let parts = split(&columns, names, width);
    parts.iter().map(|indices| part(&columns, indices, style)).collect::<Vec<_>>().join("\n")
}

impl Column {
    fn of(table: &Table, index: usize) -> Self {
        let head = table.head.get(index).map(|name| (one_line(name).into_owned(), Tone::Plain));
        let cell = |cell: &Cell| (one_line(&cell.text()).into_owned(), cell.tone());
        let below = table.rows.iter().map(|row| row.get(index).map(cell).unwrap_or_default());
        let cells: Vec<(String, Tone)> =
            [head.unwrap_or_default()].into_iter().chain(below).collect();
        let width = cells.iter().map(|(text, _)| letters(text)).max().unwrap_or(0);
        Self { cells, is_numeric: table.is_numeric(index), width }
    }

    /// The least width that breaks no word.
    fn least_width(&self) -> usize {
        let words = self.cells.iter().flat_map(|(text, _)| words(text));
        let longest = words.map(|word| letters(&word)).max().unwrap_or(0).min(LONGEST_WORD);
        longest.max(LEAST_WIDTH).min(self.width)
    }
}

fn total(columns: &[Column], indices: &[usize]) -> usize {
    let widths: usize = indices.iter().map(|index| columns[*index].width).sum();
    widths + GAP * indices.len().saturating_sub(1)
}

/// Narrows the widest columns of text until all columns fit, or none can be narrowed.
fn narrow(columns: &mut [Column], width: usize) {
    let all: Vec<usize> = (0..columns.len()).collect();
    while let Some(excess) = total(columns, &all).checked_sub(width).filter(|it| *it > 0) {
        let can_give =
            |column: &&mut Column| !column.is_numeric && column.width > column.least_width();
        let widest = columns.iter_mut().filter(can_give).max_by_key(|column| column.width);
        let Some(widest) = widest else { return };
        // In small steps, so that two wide columns share the loss.
        widest.width -= excess.min(4).min(widest.width - widest.least_width());
    }
}

/// The columns of each part; every part has the names.
fn split(columns: &[Column], names: &[usize], width: usize) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = vec![names.to_vec()];
    for index in names.len()..columns.len() {
        let last = parts.len() - 1;
        parts[last].push(index);
        if total(columns, &parts[last]) > width && parts[last].len() > names.len() + 1 {
            parts[last].pop();
            parts.push([names, &[index]].concat());
        }
    }
    parts
}

fn part(columns: &[Column], indices: &[usize], style: &Style) -> String {
    let rows = columns.first().map_or(0, |column| column.cells.len());
    (0..rows).map(|row| lines(columns, indices, row, style)).collect()
}

fn lines(columns: &[Column], indices: &[usize], row: usize, style: &Style) -> String {
    let broken: Vec<Vec<String>> =
        indices.iter().map(|index| broken(&columns[*index], row)).collect();
    let height = broken.iter().map(Vec::len).max().unwrap_or(1);
    let mut text = String::new();
    for line in 0..height {
        let mut blanks = 0;
        for (place, index) in indices.iter().enumerate() {
            let column = &columns[*index];
            let cell = broken[place].get(line).map_or("", String::as_str);
            let room = column.width.saturating_sub(letters(cell));
            let gap = if place > 0 { GAP } else { 0 };
            let (before, after) = if column.is_numeric { (room, 0) } else { (0, room) };
            blanks += gap + before;
            if !cell.is_empty() {
                text.extend(std::iter::repeat_n(' ', blanks));
                text += &style.coloured(cell, column.cells[row].1);
                blanks = 0;
            }
            blanks += after;
        }
        text.push('\n');
    }
    text
}

fn broken(column: &Column, row: usize) -> Vec<String> {
    let text = &column.cells[row].0;
    if letters(text) <= column.width {
        return vec![text.clone()];
    }
    let lines = wrapped_words(column.width, column.width, text, ["", ""]);
    lines.lines().map(str::to_owned).collect()
}

/// Columns of a terminal of unknown width.
pub(super) const COLUMNS: usize = 80;

/// Wraps a text to `width` characters; the first line begins with `first`, the others with
/// `others`. Ends in a newline.
pub(super) fn wrapped_to(width: usize, text: &str, first: &str, others: &str) -> String {
    let longest = MOST_COLUMNS.max(width) - letters(others).min(LEAST_WIDTH);
    wrapped_words(width, longest, text, [first, others])
}

/// Wraps a text, and breaks words that are longer than `longest`.
fn wrapped_words(width: usize, longest: usize, text: &str, [first, others]: [&str; 2]) -> String {
    let (mut lines, mut line, mut is_begun) = (String::new(), first.to_owned(), false);
    for word in words(text).flat_map(|word| pieces(&word, longest)) {
        if is_begun && letters(&line) + 1 + letters(&word) > width {
            lines += &format!("{line}\n");
            (line, is_begun) = (others.to_owned(), false);
        }
        if is_begun {
            line.push(' ');
        }
        line += &word;
        is_begun = true;
    }
    lines + &format!("{line}\n")
}

/// A word in pieces of this length.
fn pieces(word: &str, longest: usize) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    letters.chunks(longest.max(1)).map(|piece| piece.iter().collect()).collect()
}

/// Words, and intervals such as `[0.22, 6.39]`, which stay in one line.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words = text.split_whitespace().peekable();
    std::iter::from_fn(move || {
        let mut word = words.next()?.to_owned();
        if word.contains('[') && word.ends_with(',') {
            let end = words.next_if(|next| next.contains(']')).map(|end| format!(" {end}"));
            word.extend(end);
        }
        Some(word)
    })
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide() -> Table {
        let mut table = Table::new("", ["load", "median", "ratio", "verdict", "reason"]);
        for (load, ratio) in [("cpuload", 1.49), ("largewrite", 12.0)] {
            let cells = [Cell::duration(7.42e6), Cell::ratio(ratio)];
            let words =
                [Cell::from("cannot tell"), "the interval includes 1 and the margin".into()];
            table.row([Cell::from(load)].into_iter().chain(cells).chain(words));
        }
        table
    }

    fn of_width(width: usize) -> String {
        let text = grid(&wide(), &Style { width: Some(width), ..Style::default() });
        assert!(text.lines().all(|line| letters(line) <= width), "{text}");
        text
    }

    #[test]
    fn a_table_that_fits_has_a_line_a_row() {
        insta::assert_snapshot!(of_width(80), @r"
        load        median  ratio  verdict      reason
        cpuload     7.42ms  ×1.49  cannot tell  the interval includes 1 and the margin
        largewrite  7.42ms  ×12.0  cannot tell  the interval includes 1 and the margin
        ");
        assert_eq!(plain(), of_width(80));
    }

    fn plain() -> String {
        grid(&wide(), &Style::default())
    }

    #[test]
    fn words_are_broken_before_figures_are_moved() {
        insta::assert_snapshot!(of_width(60), @r"
        load        median  ratio  verdict      reason
        cpuload     7.42ms  ×1.49  cannot tell  the interval
                                                includes 1 and the
                                                margin
        largewrite  7.42ms  ×12.0  cannot tell  the interval
                                                includes 1 and the
                                                margin
        ");
        let narrow = of_width(34);
        let parts: Vec<&str> = narrow.split("\n\n").collect();
        insta::assert_snapshot!(parts[..2].join("\n\n"), @r"
        load        median  ratio
        cpuload     7.42ms  ×1.49
        largewrite  7.42ms  ×12.0

        load        verdict
        cpuload     cannot tell
        largewrite  cannot tell
        ");
        assert_eq!(parts.len(), 3, "the reasons are alone");
    }

    #[test]
    fn colours_take_no_room() {
        let mut table = Table::new("", ["what", "found"]);
        table.row([Cell::from("a"), Cell::Text("slow".to_owned(), Tone::Bad)]);
        table.row([Cell::from("long"), Cell::from("x")]);
        let text = grid(&table, &Style { width: Some(80), has_colour: true, ..Style::default() });
        assert_eq!(text, "what  found\na     \u{1b}[31mslow\u{1b}[0m\nlong  x\n");
    }

    #[test]
    fn no_line_is_longer_than_the_most_columns() {
        let mut table = Table::new("", ["name", "other", "ns"]);
        table.row([Cell::from("n".repeat(300)), Cell::from("o".repeat(150)), Cell::duration(1.0)]);
        let text = grid(&table, &Style::default());
        assert!(text.lines().all(|line| letters(line) <= MOST_COLUMNS), "{text}");
        let all: String = text.split_whitespace().collect();
        assert!(all.matches('n').count() > 300 && all.matches('o').count() == 151, "{text}");
        let sentence = wrapped_to(COLUMNS, &format!("of {}", "x".repeat(500)), "", "  ");
        assert!(sentence.lines().all(|line| letters(line) <= MOST_COLUMNS), "{sentence}");
    }

    #[test]
    fn an_interval_stays_in_one_line() {
        let text = "it rose to 3.5 times [3.4, 3.6], as [listed, or more, said]";
        let lines = "it rose to 3.5 times\n  [3.4, 3.6], as\n  [listed, or more,\n  said]\n";
        assert_eq!(wrapped_to(20, text, "", "  "), lines);
    }
}
