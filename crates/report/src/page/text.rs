//! A report as plain text.

use super::{Block, Report, Table};
use crate::columns::aligned;
use model::shown::shown;

/// Most rows of a table; the page has them all.
const MOST_ROWS: usize = 60;

/// The report in letters: every sentence, and every table and chart in figures.
#[must_use]
pub fn text(report: &Report) -> String {
    let mut text = format!("{}\n", report.title);
    for verdict in &report.verdicts {
        text += &format!("{}\n", verdict.text);
    }
    if !report.facts.is_empty() {
        let rows: Vec<Vec<&str>> =
            report.facts.iter().map(|(name, value)| vec![name.as_str(), value.as_str()]).collect();
        text += &format!("\n{}", aligned(&rows));
    }
    for section in &report.sections {
        text += &format!("\n== {} ==\n", section.title);
        for block in &section.blocks {
            text += &match block {
                Block::Sentence(sentence) => format!("\n{sentence}\n"),
                Block::List(items) => {
                    format!(
                        "\n{}",
                        items.iter().map(|item| format!("- {item}\n")).collect::<String>()
                    )
                }
                Block::Table(table) => format!("\n{}\n{}", table.caption, self::table(table)),
                Block::Chart(chart) => {
                    format!("\n{}: {}\n{}", chart.title, chart.reading, self::table(&chart.table))
                }
                Block::Command(command) => format!("\n  {command}\n"),
                Block::Folded(name, content) => format!("\n{name}\n\n{content}"),
            };
        }
    }
    shown(&text).into_owned()
}

fn table(table: &Table) -> String {
    let head = table.head.clone();
    let rows = table.rows.iter().take(MOST_ROWS);
    let rows = rows.map(|row| row.iter().map(|cell| cell.text.clone()).collect());
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let more = match table.rows.len().saturating_sub(MOST_ROWS) {
        0 => String::new(),
        more => format!("and {more} more\n"),
    };
    aligned(&rows) + &more
}
