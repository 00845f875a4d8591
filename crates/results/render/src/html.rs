//! A document as one self-contained HTML file.

use std::io::Read;

use flate2::read::ZlibDecoder;
use model::shown::shown;
use serde::ser::Error;
use serde_json::Value;

use crate::document::{Block, Chart, Document, OutputFormat, Section};
use crate::json::specifications;
use crate::table::{Cell, Table, Tone};

/// One self-contained page.
pub const FORMAT: OutputFormat = OutputFormat {
    name: "html",
    about: "one page that needs no other file and no network",
    endings: &["html", "htm"],
    write: |document, _| html(document),
};

/// The page, with `{{names}}` of its parts. Its policy forbids loading or sending anything, and
/// evaluating text as code.
const PAGE: &str = include_str!("../../../../web/report.html");
/// Vega, Vega-Lite and Vega's interpreter as published (`web/lock.json`), compressed by `build.rs`.
const VEGA: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/vega.js.z"));
const SCRIPT: &str = include_str!("../../../../web/report.js");
const STYLE: &str = include_str!("../../../../web/report.css");

/// Longer cell texts may be wrapped.
const LONG: usize = 24;

fn html(document: &Document<'_>) -> serde_json::Result<String> {
    let title = escaped(&document.title);
    filled_page(PAGE, document.charts().next().is_some(), |name, page| match name {
        "page title" if title.is_empty() => *page += "thrashlab",
        "page title" => *page += &format!("{title} – thrashlab"),
        "title" => *page += &title,
        "links" => page.extend(document.sections.iter().map(|Section { id, title, .. }| {
            format!("<li><a href=\"#{}\">{}</a></li>\n", escaped(id), escaped(title))
        })),
        "summary" => *page += &summary(document),
        "sections" => page.extend(document.sections.iter().map(section)),
        // No specification text may end the enclosing script element.
        "charts" => *page += &specifications(document).to_string().replace('<', "\\u003c"),
        other => debug_assert!(false, "{other} is not part of a page"),
    })
}

/// A page from its template: style and scripts where `{{style}}`, `{{vega}}` (if there are charts)
/// and `{{script}}` are, and what `fill` adds to the page for each other name. Fails when the script
/// that is part of this program cannot be unpacked.
pub fn filled_page(
    template: &str,
    has_charts: bool,
    mut fill: impl FnMut(&str, &mut String),
) -> serde_json::Result<String> {
    let mut page = String::with_capacity(1 << 20);
    for part in template.split("{{") {
        let Some((name, rest)) = part.split_once("}}") else {
            page += part;
            continue;
        };
        match name {
            "style" => page += STYLE,
            "vega" if !has_charts => {}
            "vega" => {
                ZlibDecoder::new(VEGA).read_to_string(&mut page).map_err(Error::custom)?;
            }
            "script" => page += SCRIPT,
            other => fill(other, &mut page),
        }
        page += rest;
    }
    Ok(page)
}

/// A document as part of a page: its HTML, and the specifications of its charts by name.
pub fn fragment(document: &Document<'_>) -> (String, Value) {
    let sections = document.sections.iter().map(section);
    (summary(document) + &sections.collect::<String>(), specifications(document))
}

fn summary(document: &Document<'_>) -> String {
    let mut text = String::new();
    for verdict in &document.verdicts {
        let (class, mark, word) = tone(verdict.tone);
        text += &format!(
            "<p class=\"verdict {class}\"><span class=\"mark\" role=\"img\" aria-label=\"{word}\">{mark}</span> \
             <span>{}</span></p>\n",
            escaped(&verdict.text)
        );
    }
    let facts = document.facts.iter();
    let facts = facts.map(|(name, value)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(name), escaped(value))
    });
    text += &format!("<dl class=\"facts\">\n{}</dl>\n", facts.collect::<String>());
    text + &blocks(&document.blocks)
}

fn section(section: &Section) -> String {
    let (id, title) = (escaped(&section.id), escaped(&section.title));
    format!(
        "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n\
         {}</section>\n",
        blocks(&section.blocks)
    )
}

fn blocks(blocks: &[Block]) -> String {
    blocks.iter().map(block).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Sentence(sentence) => format!("<p>{}</p>\n", escaped(sentence)),
        Block::List(items) | Block::Notes(items) if items.is_empty() => String::new(),
        Block::List(items) | Block::Notes(items) => {
            let items = items.iter().map(|item| format!("<li>{}</li>\n", escaped(item)));
            format!("<ul>\n{}</ul>\n", items.collect::<String>())
        }
        Block::Table(table) => self::table(table),
        Block::Chart(chart) => self::chart(chart),
        Block::Command(command) => format!(
            "<div class=\"command\"><pre tabindex=\"0\"><code>{}</code></pre></div>\n",
            escaped(command)
        ),
        Block::Verbatim(text) => format!("<pre tabindex=\"0\">{}</pre>\n", escaped(text)),
        Block::Folded(name, blocks) => format!(
            "<details><summary>{}</summary>\n{}</details>\n",
            escaped(name),
            self::blocks(blocks)
        ),
    }
}

fn chart(chart: &Chart) -> String {
    let (name, title, reading) =
        (escaped(&chart.name), escaped(&chart.title), escaped(&chart.reading));
    format!(
        "<figure id=\"chart-{name}\">\n<figcaption><h3>{title}</h3>\n<p>{reading}</p></figcaption>\n\
         <div class=\"drawing\" data-chart=\"{name}\" role=\"group\" tabindex=\"0\" \
         aria-label=\"Chart: {title}. {reading} The table below has its figures.\"></div>\n\
         <details><summary>Figures of this chart</summary>\n{}</details>\n</figure>\n",
        table(&chart.table)
    )
}

fn table(table: &Table) -> String {
    let caption = escaped(&table.caption);
    let label = if caption.is_empty() { escaped(&table.head.join(", ")) } else { caption.clone() };
    let mut text = format!(
        "<div class=\"table\" role=\"region\" tabindex=\"0\" aria-label=\"{label}\">\n<table>\n\
         <caption>{caption}</caption>\n<thead><tr>"
    );
    let side = |column: usize| if table.is_numeric(column) { " class=\"number\"" } else { "" };
    let sides: Vec<&str> = (0..table.head.len()).map(side).collect();
    for (name, side) in table.head.iter().zip(&sides) {
        text += &format!("<th scope=\"col\"{side}>{}</th>", escaped(name));
    }
    text += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        text += "<tr>";
        for (column, cell) in row.iter().enumerate() {
            text += &match column {
                0 => format!("<th scope=\"row\">{}</th>", escaped(&cell.text())),
                _ => self::cell(cell, sides.get(column).copied().unwrap_or("")),
            };
        }
        text += "</tr>\n";
    }
    text + "</tbody>\n</table>\n</div>\n"
}

fn cell(cell: &Cell, side: &str) -> String {
    let text = cell.text();
    let is_long = text.len() > LONG;
    match cell.tone() {
        Tone::Plain if side.is_empty() && !is_long => {
            format!("<td class=\"short\">{}</td>", escaped(&text))
        }
        Tone::Plain => format!("<td{side}>{}</td>", escaped(&text)),
        tone => {
            let (class, mark, _) = self::tone(tone);
            let long = if is_long { " long" } else { "" };
            format!(
                "<td><span class=\"tag {class}{long}\"><span aria-hidden=\"true\">{mark}</span> {}</span></td>",
                escaped(&text)
            )
        }
    }
}

/// Class, mark and word of a tone, for accessibility: colour alone would not be enough.
fn tone(tone: Tone) -> (&'static str, &'static str, &'static str) {
    match tone {
        Tone::Plain => ("plain", "•", "note"),
        Tone::Good => ("good", "✓", "good"),
        Tone::Better => ("better", "▲", "better"),
        Tone::Doubtful => ("doubtful", "◆", "look at this"),
        Tone::Bad => ("bad", "▼", "bad"),
        Tone::Unknown => ("unknown", "?", "cannot tell"),
    }
}

fn escaped(text: &str) -> String {
    let text = shown(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}
