//! A document as Markdown.

use itertools::Itertools;
use model::shown::shown;

use crate::document::{Block, Chart, Document, OutputFormat};
use crate::table::{Cell, Table, Tone};

pub(crate) const FORMAT: OutputFormat = OutputFormat {
    name: "markdown",
    about: "for a pull request or a mail",
    endings: &["md", "markdown"],
    write: |document, _| Ok(markdown(document)),
};

/// Rows of a chart's table; the page has all of them.
const MOST_ROWS: usize = 40;

fn markdown(document: &Document<'_>) -> String {
    let mut text = String::new();
    if !document.title.is_empty() {
        text += &format!("# thrashlab: {}\n\n", escaped(&document.title));
    }
    for verdict in &document.verdicts {
        text += &format!("- {} **{}**\n", mark(verdict.tone), escaped(&verdict.text));
    }
    if !document.facts.is_empty() {
        text += "\n| what | |\n| --- | --- |\n";
        for (name, value) in &document.facts {
            text += &format!("| {} | {} |\n", escaped(name), escaped(value));
        }
    }
    if !document.blocks.is_empty() {
        let gap = if text.is_empty() { "" } else { "\n" };
        text += &format!("{gap}{}", blocks(&document.blocks));
    }
    for section in &document.sections {
        text += &format!("\n## {}\n\n{}", escaped(&section.title), blocks(&section.blocks));
    }
    text
}

fn blocks(blocks: &[Block]) -> String {
    blocks.iter().map(block).filter(|block| !block.is_empty()).join("\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Sentence(sentence) => format!("{}\n", escaped(sentence)),
        Block::List(items) | Block::Notes(items) => {
            items.iter().map(|item| format!("- {}\n", escaped(item))).collect()
        }
        Block::Table(table) => match (table.rows.len(), table.caption.as_str()) {
            (many, caption) if many > MOST_ROWS => folded(caption, &rows(table, many)),
            (few, "") => rows(table, few),
            (few, caption) => format!("{}\n\n{}", escaped(caption), rows(table, few)),
        },
        Block::Chart(chart) => self::chart(chart),
        Block::Command(command) => fenced("console", &format!("$ {command}")),
        Block::Verbatim(text) => fenced("text", text.trim_end()),
        Block::Folded(name, content) => folded(name, &blocks(content)),
    }
}

fn chart(chart: &Chart) -> String {
    let more = match chart.table.rows.len().saturating_sub(MOST_ROWS) {
        0 => String::new(),
        more => format!("\nAnd {more} more.\n"),
    };
    let reading = escaped(&chart.reading);
    folded(&chart.title, &format!("{reading}\n\n{}{more}", rows(&chart.table, MOST_ROWS)))
}

fn folded(name: &str, content: &str) -> String {
    format!("<details><summary>{}</summary>\n\n{content}\n</details>\n", escaped(name))
}

/// Preformatted text in a fence that it cannot end.
fn fenced(language: &str, content: &str) -> String {
    let mut fence = "```".to_owned();
    while content.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}{language}\n{}\n{fence}\n", shown(content))
}

fn rows(table: &Table, most: usize) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let side = |column: usize| if table.is_numeric(column) { "---:" } else { "---" };
    let mut text = line(table.head.iter().map(|name| escaped(name)).collect());
    text += &line((0..table.head.len()).map(|column| side(column).to_owned()).collect());
    let rows = table.rows.iter().take(most);
    text.extend(rows.map(|row| line(row.iter().map(cell).collect())));
    text
}

fn cell(cell: &Cell) -> String {
    match cell.tone() {
        Tone::Plain => escaped(&cell.text()),
        tone => format!("{} {}", mark(tone), escaped(&cell.text())),
    }
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

fn escaped(text: &str) -> String {
    let escaped = |letter: char| match letter {
        '\n' => " ".to_owned(),
        '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => format!("\\{letter}"),
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        other => other.to_string(),
    };
    shown(text).chars().map(escaped).collect()
}
