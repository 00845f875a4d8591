//! A report as Markdown, for a pull request or a mail.

use super::{Block, Report, Table, Tone};
use model::shown::shown;

/// Most rows of a table; the page has them all.
const MOST_ROWS: usize = 40;

/// The report in the Markdown of GitHub; what is long is folded away.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let mut text = format!("# thrashlab: {}\n\n", escaped(&report.title));
    for verdict in &report.verdicts {
        text += &format!("- {} **{}**\n", mark(verdict.tone), escaped(&verdict.text));
    }
    if !report.facts.is_empty() {
        text += "\n| what | |\n| --- | --- |\n";
        for (name, value) in &report.facts {
            text += &format!("| {} | {} |\n", escaped(name), escaped(value));
        }
    }
    for section in &report.sections {
        text += &format!("\n## {}\n\n", escaped(&section.title));
        let blocks: Vec<String> = section.blocks.iter().map(block).collect();
        text += &blocks.join("\n");
    }
    text
}

fn block(block: &Block) -> String {
    match block {
        Block::Sentence(sentence) => format!("{}\n", escaped(sentence)),
        Block::List(items) => items.iter().map(|item| format!("- {}\n", escaped(item))).collect(),
        Block::Table(table) => self::table(table),
        Block::Chart(chart) => folded(
            &chart.title,
            &format!("{}\n\n{}", escaped(&chart.reading), self::table(&chart.table)),
        ),
        Block::Command(command) => fenced("console", &format!("$ {command}")),
        Block::Folded(name, content) => folded(name, &fenced("text", content.trim_end())),
    }
}

fn folded(name: &str, content: &str) -> String {
    format!("<details><summary>{}</summary>\n\n{content}\n</details>\n", escaped(name))
}

/// Text as it is, in a fence that it cannot end.
fn fenced(language: &str, content: &str) -> String {
    let mut fence = "```".to_owned();
    while content.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}{language}\n{}\n{fence}\n", shown(content))
}

fn table(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(table.head.iter().map(|name| escaped(name)).collect());
    text += &line(table.head.iter().map(|_| "---".to_owned()).collect());
    for row in table.rows.iter().take(MOST_ROWS) {
        let cells = row.iter().map(|cell| match cell.tone {
            Tone::Plain => escaped(&cell.text),
            tone => format!("{} {}", mark(tone), escaped(&cell.text)),
        });
        text += &line(cells.collect());
    }
    let more = table.rows.len().saturating_sub(MOST_ROWS);
    if more > 0 {
        text += &format!("\nAnd {more} more.\n");
    }
    text
}

fn mark(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "·",
        Tone::Good => "✅",
        Tone::Better => "🔵",
        Tone::Doubtful => "🟠",
        Tone::Bad => "🔴",
        Tone::Unknown => "⚪",
    }
}

/// Text that Markdown, tables and HTML take as it is.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in shown(text).chars() {
        match letter {
            '\n' => escaped.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            other => escaped.push(other),
        }
    }
    escaped
}
