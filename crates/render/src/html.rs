//! A document as one HTML file that needs nothing else: no network, no other file.

use model::shown::shown;

use crate::document::{Block, Chart, Document, Section};
use crate::output_format::OutputFormat;
use crate::table::{Cell, Table, Tone};
use crate::vega::specifications;

/// One page that needs no other file and no network.
pub const FORMAT: OutputFormat = OutputFormat {
    name: "html",
    about: "one page that needs no other file and no network",
    endings: &["html", "htm"],
    write: |document, _| Ok(html(document)),
};

/// Vega, Vega-Lite and Vega's interpreter of expressions, as published (`web/lock.json`).
const VEGA: &str = include_str!("../../../web/dist/vega.js");
/// What draws the charts of the page with them.
const SCRIPT: &str = include_str!("../../../web/report.js");
/// How the page looks.
const STYLE: &str = include_str!("../../../web/report.css");
/// Forbids the page to load or send anything at all, and its scripts to make code from text.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'";

/// A longer text of a cell may be broken into lines.
const LONG: usize = 24;

/// The page.
fn html(document: &Document<'_>) -> String {
    let title = escaped(&document.title);
    let mut page = String::with_capacity(VEGA.len() + (256 << 10));
    page += &format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}{}thrashlab</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#summary\">Skip to the summary</a>\n",
        if title.is_empty() { "" } else { " – " }
    );
    page += &header(document);
    page += "<main>\n";
    page += &summary(document);
    for section in &document.sections {
        page += &self::section(section);
    }
    page += "</main>\n<footer><p>Made by thrashlab from run files alone; nothing in this page is \
             loaded from elsewhere.</p></footer>\n";
    page +=
        &format!("<script type=\"application/json\" id=\"charts\">{}</script>\n", charts(document));
    // What draws is not needed where nothing is drawn.
    let vega = if document.charts().next().is_some() { VEGA } else { "" };
    page.extend([
        "<script>\n",
        vega,
        "</script>\n<script>\n",
        SCRIPT,
        "</script>\n</body>\n</html>\n",
    ]);
    page
}

fn header(document: &Document<'_>) -> String {
    let links = document.sections.iter().map(|section| {
        format!("<li><a href=\"#{}\">{}</a></li>\n", escaped(&section.id), escaped(&section.title))
    });
    format!(
        "<header>\n<div class=\"bar\">\n<h1><span class=\"brand\">thrashlab</span> {}</h1>\n\
         <button type=\"button\" id=\"theme\" hidden>Theme: as the system</button>\n</div>\n\
         <nav aria-label=\"Sections\"><ul>\n{}</ul></nav>\n</header>\n",
        escaped(&document.title),
        links.collect::<String>()
    )
}

fn summary(document: &Document<'_>) -> String {
    let mut text =
        "<section id=\"summary\" aria-labelledby=\"summary-title\">\n<h2 id=\"summary-title\">Summary</h2>\n"
            .to_owned();
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
    text.extend(document.blocks.iter().map(block));
    text + "</section>\n"
}

fn section(section: &Section) -> String {
    let id = escaped(&section.id);
    let mut text = format!(
        "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{}</h2>\n",
        escaped(&section.title)
    );
    text.extend(section.blocks.iter().map(block));
    text + "</section>\n"
}

fn block(block: &Block) -> String {
    match block {
        Block::Sentence(sentence) => format!("<p>{}</p>\n", escaped(sentence)),
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
        Block::Folded(name, content) => format!(
            "<details><summary>{}</summary>\n<pre tabindex=\"0\">{}</pre></details>\n",
            escaped(name),
            escaped(content)
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
    match cell.tone {
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

/// Class, sign and word of a tone: it is never told by a colour alone.
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

/// The specifications by name, so that no text in them can end the script that they stand in.
fn charts(document: &Document<'_>) -> String {
    specifications(document).to_string().replace('<', "\\u003c")
}

/// Text as HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in shown(text).chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}
