//! A result as a document, independent of output formats.

use serde::Serialize;
use serde_json::Value;

use crate::table::{Table, Tone};

/// A result: verdicts, tables, charts and data. A small command's has blocks only.
#[derive(Default)]
pub struct Document<'a> {
    /// Its title; empty if the first table has one.
    pub title: String,
    /// One sentence per result, most important first.
    pub verdicts: Vec<Verdict>,
    /// Named facts: what was measured where, or a legend of the tables.
    pub facts: Vec<(String, String)>,
    /// The blocks before the first section.
    pub blocks: Vec<Block>,
    /// The parts with headings.
    pub sections: Vec<Section>,
    /// The result on one screen, which text shows unless details are requested.
    pub brief: Option<Box<Document<'static>>>,
    /// Serialises the unrounded data; without it, JSON shows the tables.
    pub data: Option<Box<dyn Fn() -> serde_json::Result<String> + 'a>>,
}

/// A result in one sentence.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The sentence.
    pub text: String,
    /// Whether it is good or bad.
    pub tone: Tone,
}

/// A part of a document under its own heading.
#[derive(Debug)]
pub struct Section {
    /// Its anchor, unique in the document.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// Its contents.
    pub blocks: Vec<Block>,
}

/// A paragraph, a table, a chart.
#[derive(Debug)]
pub enum Block {
    /// A paragraph.
    Sentence(String),
    /// A list.
    List(Vec<String>),
    /// Remarks on the tables above, one line each.
    Notes(Vec<String>),
    /// A table.
    Table(Table),
    /// A chart.
    Chart(Box<Chart>),
    /// A command to type.
    Command(String),
    /// Preformatted lines.
    Verbatim(String),
    /// A title and long contents, collapsed if the format can.
    Folded(String, Vec<Block>),
}

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Its name, unique in the document.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// How to read the chart.
    pub reading: String,
    /// The Vega-Lite specification, data included.
    pub spec: Value,
    /// The figures of the chart as a table.
    pub table: Table,
}

impl<'a> Document<'a> {
    /// A document of these blocks.
    pub fn of(blocks: Vec<Block>) -> Self {
        Self { blocks, ..Self::default() }
    }

    /// Adds these facts, except those with an empty value.
    pub fn with_facts<const N: usize>(mut self, facts: [(&str, String); N]) -> Self {
        let known = facts.into_iter().filter(|(_, value)| !value.is_empty());
        self.facts.extend(known.map(|(name, value)| (name.to_owned(), value)));
        self
    }

    /// Sets the result on one screen.
    #[must_use]
    pub fn with_brief(self, brief: Document<'static>) -> Self {
        Self { brief: Some(Box::new(brief)), ..self }
    }

    /// Sets the data, a reference or a value.
    pub fn with_data(self, data: impl Serialize + 'a) -> Self {
        Self { data: Some(Box::new(move || serde_json::to_string_pretty(&data))), ..self }
    }

    /// Sets data that are computed lazily, only for JSON.
    pub fn with_json<T: Serialize>(self, make: impl Fn() -> T + 'a) -> Self {
        Self { data: Some(Box::new(move || serde_json::to_string_pretty(&make()))), ..self }
    }

    /// Adds a block.
    pub fn push(&mut self, block: impl Into<Block>) {
        self.blocks.push(block.into());
    }

    pub(crate) fn all_blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().chain(self.sections.iter().flat_map(|section| &section.blocks))
    }

    /// The charts in order.
    pub fn charts(&self) -> impl Iterator<Item = &Chart> {
        self.all_blocks().filter_map(|block| match block {
            Block::Chart(chart) => Some(chart.as_ref()),
            _ => None,
        })
    }
}

impl Section {
    /// A section of these blocks.
    pub fn new(id: &str, title: &str, blocks: Vec<Block>) -> Self {
        Self { id: id.to_owned(), title: title.to_owned(), blocks }
    }
}

impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

impl From<String> for Block {
    fn from(sentence: String) -> Self {
        Self::Sentence(sentence)
    }
}

impl From<&str> for Block {
    fn from(sentence: &str) -> Self {
        Self::Sentence(sentence.to_owned())
    }
}

/// An output format of documents.
#[derive(Clone, Copy, Debug)]
pub struct OutputFormat {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is for, in one line.
    pub about: &'static str,
    /// The extensions of its files.
    pub endings: &'static [&'static str],
    /// Renders a document with a final newline. Fails if this format needs the document's data
    /// and they cannot be written as JSON.
    pub write: fn(&Document<'_>, &Style) -> serde_json::Result<String>,
}

/// Terminal capabilities; other formats ignore them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Width in columns; without one, lines of tables have at most 200 and sentences 80.
    pub width: Option<usize>,
    /// Whether it shows colours.
    pub has_colour: bool,
    /// Whether a document that has a short form is shown in it.
    pub is_brief: bool,
}
