//! A document as terminal text.

mod grid;

use model::shown::shown;

use crate::document::{Block, Chart, Document, OutputFormat, Style, Verdict};
use crate::table::{Table, Tone};
use grid::{COLUMNS, grid, wrapped_to};

pub(crate) const FORMAT: OutputFormat = OutputFormat {
    name: "text",
    about: "for a terminal",
    endings: &["txt"],
    write: |document, style| Ok(text(document, style)),
};

/// Rows of a chart's table; the page has all of them.
const MOST_ROWS: usize = 60;

/// Columns of a result on one screen where the width is unknown.
const SCREEN_COLUMNS: usize = 80;

fn text(document: &Document<'_>, style: &Style) -> String {
    if style.is_brief
        && let Some(brief) = &document.brief
    {
        let width = style.width.or(Some(SCREEN_COLUMNS));
        return text(brief, &Style { width, is_brief: false, ..*style });
    }
    let head = [style.title(&document.title), style.verdicts(&document.verdicts)].concat();
    let head = [head, style.facts(&document.facts)];
    let mut parts = style.parts(head, &document.blocks);
    for section in &document.sections {
        let title = style.bold(&format!("== {} ==", shown(&section.title))) + "\n";
        parts.extend(style.parts([title], &section.blocks));
    }
    parts.join("\n")
}

/// A document as text without colours, at unlimited width.
pub fn plain_text(document: &Document<'_>) -> String {
    text(document, &Style::default())
}

impl Style {
    fn parts(&self, head: impl IntoIterator<Item = String>, blocks: &[Block]) -> Vec<String> {
        let all = head.into_iter().chain(blocks.iter().map(|block| self.block(block)));
        all.filter(|part| !part.is_empty()).collect()
    }

    fn title(&self, title: &str) -> String {
        if title.is_empty() { String::new() } else { self.bold(&shown(title)) + "\n" }
    }

    fn verdicts(&self, verdicts: &[Verdict]) -> String {
        let mut text = String::new();
        for verdict in verdicts {
            let lines = self.wrapped(&verdict.text, "", "");
            text.extend(lines.lines().map(|it| self.coloured(it, verdict.tone) + "\n"));
        }
        text
    }

    fn facts(&self, facts: &[(String, String)]) -> String {
        let longest = facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let others = " ".repeat(longest + 2);
        let line = |(name, value): &(String, String)| {
            self.wrapped(value, &format!("{:<longest$}  ", shown(name)), &others)
        };
        facts.iter().map(line).collect()
    }

    fn block(&self, block: &Block) -> String {
        match block {
            Block::Sentence(sentence) => self.wrapped(sentence, "", ""),
            Block::List(items) => items.iter().map(|item| self.wrapped(item, "- ", "  ")).collect(),
            Block::Notes(notes) => notes.iter().map(|note| self.wrapped(note, "", "  ")).collect(),
            Block::Table(table) => self.table(table),
            Block::Chart(chart) => self.chart(chart),
            Block::Command(command) => format!("  {}\n", shown(command)),
            Block::Verbatim(text) => shown(text).split_inclusive('\n').map(with_newline).collect(),
            Block::Folded(name, blocks) => {
                self.parts([format!("{}\n", shown(name))], blocks).join("\n")
            }
        }
    }

    fn chart(&self, chart: &Chart) -> String {
        let mut table = chart.table.clone();
        table.rows.truncate(MOST_ROWS);
        let more = chart.table.rows.len() - table.rows.len();
        let more = if more > 0 { format!("and {more} more\n") } else { String::new() };
        let heading = self.wrapped(&format!("{}: {}", chart.title, chart.reading), "", "");
        heading + &grid(&table, self) + &more
    }

    fn table(&self, table: &Table) -> String {
        let caption = match table.caption.as_str() {
            "" => String::new(),
            caption => self.wrapped(caption, "", ""),
        };
        caption + &grid(table, self)
    }

    fn wrapped(&self, text: &str, first: &str, others: &str) -> String {
        wrapped_to(self.width.unwrap_or(COLUMNS), &shown(text), first, others)
    }

    fn bold(&self, text: &str) -> String {
        if self.has_colour { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn coloured(&self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Good => 32,
            Tone::Better => 36,
            Tone::Doubtful => 33,
            Tone::Bad => 31,
            Tone::Unknown => 35,
            Tone::Plain => return text.to_owned(),
        };
        if self.has_colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// A line with its end, LF or CR LF.
fn with_newline(line: &str) -> String {
    if line.ends_with('\n') { line.to_owned() } else { format!("{line}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Cell;

    #[test]
    fn numbers_are_right_aligned() {
        let rows = [["a", "1.5", "x"], ["bcd", "12.25", ""]].map(|row| row.map(Cell::parsed));
        let table = Table::of("", ["name", "ms", "note"], rows);
        insta::assert_snapshot!(grid(&table, &Style::default()), @r"
        name     ms  note
        a       1.5  x
        bcd   12.25
        ");
    }

    #[test]
    fn no_rows_are_no_text() {
        assert_eq!(grid(&Table::default(), &Style::default()), "");
    }
}
