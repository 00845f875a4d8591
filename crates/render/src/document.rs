//! A result, whatever it is printed as.

use serde::Serialize;
use serde_json::Value;

use crate::table::{Table, Tone};

/// Data that become JSON when they are asked for.
type Data<'a> = dyn Fn() -> serde_json::Result<String> + 'a;

/// A result: what was found, the tables and charts behind it, and its data.
///
/// The document of a small command is a list of blocks; that of a report has sections.
#[derive(Default)]
pub struct Document<'a> {
    /// Its title; empty where the first table says what it is.
    pub title: String,
    /// The results in a sentence each, the most important first.
    pub verdicts: Vec<Verdict>,
    /// Short facts by name: what was measured where, or what the letters of the tables stand for.
    pub facts: Vec<(String, String)>,
    /// What stands before the first section.
    pub blocks: Vec<Block>,
    /// The parts with headings of their own.
    pub sections: Vec<Section>,
    /// The data behind it, unrounded; without any, JSON has the contents of the tables.
    pub data: Option<Box<Data<'a>>>,
}

/// A sentence that says what was found.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The sentence.
    pub text: String,
    /// Whether it is good news.
    pub tone: Tone,
}

/// A part of a document under a heading of its own.
#[derive(Debug)]
pub struct Section {
    /// Its name in a link, unique in the document.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What is in it.
    pub blocks: Vec<Block>,
}

/// A paragraph, a table, a chart.
#[derive(Debug)]
pub enum Block {
    /// A paragraph.
    Sentence(String),
    /// A list.
    List(Vec<String>),
    /// What a reader should know of the tables above, a line each.
    Notes(Vec<String>),
    /// A table.
    Table(Table),
    /// A chart.
    Chart(Box<Chart>),
    /// A command to type.
    Command(String),
    /// Lines that are shown as they are.
    Verbatim(String),
    /// Something long, folded where the format can: what it is, and its blocks.
    Folded(String, Vec<Block>),
}

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Its name, unique in the document.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// How to read it, in a sentence or two.
    pub reading: String,
    /// The Vega-Lite specification, data included.
    pub spec: Value,
    /// The same figures as a table.
    pub table: Table,
}

impl<'a> Document<'a> {
    /// A document of these blocks.
    pub fn of(blocks: Vec<Block>) -> Self {
        Self { blocks, ..Self::default() }
    }

    /// The same document with these facts; those without a value are left out.
    pub fn with_facts<const N: usize>(mut self, facts: [(&str, String); N]) -> Self {
        let told = facts.into_iter().filter(|(_, value)| !value.is_empty());
        self.facts.extend(told.map(|(name, value)| (name.to_owned(), value)));
        self
    }

    /// The same document with the data behind it: a reference or a value.
    pub fn with_data(mut self, data: impl Serialize + 'a) -> Self {
        self.data = Some(Box::new(move || serde_json::to_string_pretty(&data)));
        self
    }

    /// The same document with data that are made only if they are asked for.
    pub fn with_json<T: Serialize>(mut self, make: impl Fn() -> T + 'a) -> Self {
        self.data = Some(Box::new(move || serde_json::to_string_pretty(&make())));
        self
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

impl From<Chart> for Block {
    fn from(chart: Chart) -> Self {
        Self::Chart(Box::new(chart))
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
