//! A document as terminal text.

mod grid;

use model::shown::shown;

use crate::document::{Block, Chart, Document, Verdict};
use crate::output_format::{OutputFormat, Style};
use crate::table::{Table, Tone};
use crate::wrap::{COLUMNS, wrapped_to};
use grid::grid;

pub(crate) const FORMAT: OutputFormat = OutputFormat {
    name: "text",
    about: "for a terminal",
    endings: &["txt"],
    write: |document, style| Ok(text(document, style)),
};

/// Most rows of a chart's table; the page has them all.
const MOST_ROWS: usize = 60;

/// Every sentence, and every table and chart in figures, with a blank line between them.
fn text(document: &Document<'_>, style: &Style) -> String {
    let writer = Writer { style: *style };
    let mut parts: Vec<String> = Vec::new();
    let head = [writer.title(&document.title), writer.verdicts(&document.verdicts)].concat();
    parts.push(head);
    parts.push(writer.facts(&document.facts));
    parts.extend(document.blocks.iter().map(|block| writer.block(block)));
    for section in &document.sections {
        parts.push(writer.bold(&format!("== {} ==", shown(&section.title))) + "\n");
        parts.extend(section.blocks.iter().map(|block| writer.block(block)));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// A document as text without colours, its tables however wide.
#[must_use]
pub fn plain_text(document: &Document<'_>) -> String {
    text(document, &Style::default())
}

/// A table alone, without colours and however wide.
pub(crate) fn plain_table(table: &Table) -> String {
    grid(table, &Style::default())
}

struct Writer {
    style: Style,
}

impl Writer {
    fn title(&self, title: &str) -> String {
        if title.is_empty() { String::new() } else { self.bold(&shown(title)) + "\n" }
    }

    fn verdicts(&self, verdicts: &[Verdict]) -> String {
        let line = |verdict: &Verdict| {
            let lines = self.wrapped(&verdict.text, "", "");
            let lines = lines.lines().map(|line| coloured(line, verdict.tone, &self.style) + "\n");
            lines.collect::<String>()
        };
        verdicts.iter().map(line).collect()
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
            Block::Verbatim(text) => with_newline(&shown(text)),
            Block::Folded(name, text) => {
                format!("{}\n\n{}", shown(name), with_newline(&shown(text)))
            }
        }
    }

    fn chart(&self, chart: &Chart) -> String {
        let mut table = chart.table.clone();
        let more = table.rows.len().saturating_sub(MOST_ROWS);
        table.rows.truncate(MOST_ROWS);
        let more = if more > 0 { format!("and {more} more\n") } else { String::new() };
        let heading = self.wrapped(&format!("{}: {}", chart.title, chart.reading), "", "");
        heading + &grid(&table, &self.style) + &more
    }

    fn table(&self, table: &Table) -> String {
        let caption = match table.caption.as_str() {
            "" => String::new(),
            caption => self.wrapped(caption, "", ""),
        };
        caption + &grid(table, &self.style)
    }

    fn wrapped(&self, text: &str, first: &str, others: &str) -> String {
        wrapped_to(self.style.width.unwrap_or(COLUMNS), &shown(text), first, others)
    }

    fn bold(&self, text: &str) -> String {
        if self.style.has_colour { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// A text in the colour of what it means.
fn coloured(text: &str, tone: Tone, style: &Style) -> String {
    let code = match tone {
        _ if !style.has_colour => return text.to_owned(),
        Tone::Plain => return text.to_owned(),
        Tone::Good => 32,
        Tone::Better => 36,
        Tone::Doubtful => 33,
        Tone::Bad => 31,
        Tone::Unknown => 35,
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

fn with_newline(text: &str) -> String {
    match text {
        "" => String::new(),
        text if text.ends_with('\n') => text.to_owned(),
        text => format!("{text}\n"),
    }
}
