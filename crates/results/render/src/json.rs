//! The data behind a document as JSON, or its contents if it has none; and its charts alone, as
//! Vega-Lite specifications by name.

use model::shown::shown_json;
use serde_json::{Value, json};

use crate::document::{Block, Document, OutputFormat};
use crate::table::{Cell, Table};

pub(crate) const FORMAT: OutputFormat = OutputFormat {
    name: "json",
    about: "the data behind the result, unrounded",
    endings: &["json"],
    write: |document, _| match &document.data {
        Some(json) => Ok(line(json()?)),
        None => Ok(line(format!("{:#}", contents(document)))),
    },
};

pub(crate) const VEGA: OutputFormat = OutputFormat {
    name: "vega",
    about: "the charts by name, as Vega-Lite specifications",
    endings: &[],
    write: |document, _| Ok(line(format!("{:#}", specifications(document)))),
};

fn line(json: String) -> String {
    shown_json(&(json + "\n")).into_owned()
}

pub(crate) fn specifications(document: &Document<'_>) -> Value {
    document.charts().map(|chart| (chart.name.clone(), chart.spec.clone())).collect()
}

fn contents(document: &Document<'_>) -> Value {
    let verdicts = document.verdicts.iter().map(|verdict| verdict.text.as_str());
    let facts = document.facts.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    json!({
        "title": document.title,
        "verdicts": verdicts.collect::<Vec<_>>(),
        "facts": facts.collect::<Value>(),
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
    let row = |row: &Vec<Cell>| -> Value {
        table.head.iter().zip(row).map(|(name, cell)| (name.as_str(), self::cell(cell))).collect()
    };
    json!({ "caption": table.caption, "rows": table.rows.iter().map(row).collect::<Vec<_>>() })
}

fn cell(cell: &Cell) -> Value {
    match cell {
        Cell::Text(text, _) | Cell::Figure(text) => json!(text),
        Cell::Duration(duration_ns) => json!(duration_ns),
        Cell::Ratio(_, number) | Cell::Share(number) => json!(number),
        Cell::Interval(ends) => json!(ends),
        Cell::Count(count) | Cell::Size(count) => json!(count),
        Cell::Absent(_) => Value::Null,
    }
}
