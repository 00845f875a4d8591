//! A result, whatever it is printed as.

use serde::Serialize;
use serde_json::Value;

use crate::table::{Table, Tone};

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
    pub data: Option<Box<dyn Data + 'a>>,
}

/// A sentence that says what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// A long text, folded where the format can: what it is, and the text.
    Folded(String, String),
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

/// Data that can be written as JSON; all that can be serialized is.
pub trait Data {
    /// The data as indented JSON, its keys in the order of their declaration.
    ///
    /// # Errors
    /// When they have no form in JSON, such as a map whose keys are no strings.
    fn json(&self) -> serde_json::Result<String>;
}

impl<T: Serialize> Data for T {
    fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }
}

impl<'a> Document<'a> {
    /// A document of these blocks.
    #[must_use]
    pub fn of(blocks: Vec<Block>) -> Self {
        Self { blocks, ..Self::default() }
    }

    /// The same document with the data behind it: a reference or a value.
    #[must_use]
    pub fn with_data(mut self, data: impl Serialize + 'a) -> Self {
        self.data = Some(Box::new(data));
        self
    }

    /// The same document without the data behind it, which outlives what it was made of.
    #[must_use]
    pub fn without_data<'b>(self) -> Document<'b> {
        let Self { title, verdicts, facts, blocks, sections, data: _ } = self;
        Document { title, verdicts, facts, blocks, sections, data: None }
    }

    /// Adds a block.
    pub fn push(&mut self, block: impl Into<Block>) {
        self.blocks.push(block.into());
    }

    /// All blocks in order.
    pub fn all_blocks(&self) -> impl Iterator<Item = &Block> {
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

impl std::fmt::Debug for Document<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { title, verdicts, facts, blocks, sections, data: _ } = self;
        let mut fields = formatter.debug_struct("Document");
        fields.field("title", title).field("verdicts", verdicts).field("facts", facts);
        fields.field("blocks", blocks).field("sections", sections).finish_non_exhaustive()
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
