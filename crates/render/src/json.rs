//! The data behind a document as JSON; of a document without data the contents of its tables.

use model::shown::shown_json;
use serde_json::{Map, Value, json};

use crate::document::{Block, Document};
use crate::output_format::{OutputFormat, Style};
use crate::table::{Cell, Content, Table};

pub(crate) const FORMAT: OutputFormat = OutputFormat {
    name: "json",
    about: "the data behind the result, unrounded",
    endings: &["json"],
    write,
};

fn write(document: &Document<'_>, _: &Style) -> serde_json::Result<String> {
    let json = match &document.data {
        Some(json) => json()?,
        None => format!("{:#}", contents(document)),
    };
    Ok(shown_json(&(json + "\n")).into_owned())
}

fn contents(document: &Document<'_>) -> Value {
    let verdicts = document.verdicts.iter().map(|verdict| verdict.text.as_str());
    let facts = document.facts.iter().map(|(name, value)| (name.clone(), json!(value)));
    json!({
        "title": document.title,
        "verdicts": verdicts.collect::<Vec<_>>(),
        "facts": facts.collect::<Map<_, _>>(),
        "blocks": document.all_blocks().map(block).collect::<Vec<_>>(),
    })
}

fn block(block: &Block) -> Value {
    match block {
        Block::Sentence(text) | Block::Command(text) | Block::Verbatim(text) => json!(text),
        Block::List(items) | Block::Notes(items) => json!(items),
        Block::Table(table) => self::table(table),
        Block::Chart(chart) => json!({ "title": chart.title, "spec": chart.spec }),
        Block::Folded(name, blocks) => {
            json!({ "title": name, "blocks": blocks.iter().map(self::block).collect::<Vec<_>>() })
        }
    }
}

fn table(table: &Table) -> Value {
    let row = |row: &Vec<Cell>| {
        let named = table.head.iter().zip(row).map(|(name, cell)| (name.clone(), self::cell(cell)));
        Value::Object(named.collect())
    };
    json!({ "caption": table.caption, "rows": table.rows.iter().map(row).collect::<Vec<_>>() })
}

fn cell(cell: &Cell) -> Value {
    match &cell.content {
        Content::Text(text) | Content::Figure(text) => json!(text),
        Content::Duration(duration_ns) => json!(duration_ns),
        Content::Ratio(_, number) | Content::Share(number) => json!(number),
        Content::Interval(ends) => json!(ends),
        Content::Count(count) | Content::Size(count) => json!(count),
        Content::Absent(_) => Value::Null,
    }
}
