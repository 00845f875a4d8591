//! A report: results as sections of sentences, tables and charts, which are then drawn as one HTML
//! file, as Markdown or as text.

mod command;
mod environment;
mod html;
mod input;
mod jobs;
mod json;
mod markdown;
mod samples;
mod sections;
mod text;
mod timeline;

use analysis::comparison::Comparison;
use model::MachineSpec;

pub use html::html;
pub use input::{Diagnosed, Input, Measurement};
pub(crate) use jobs::JobRuns;
pub use json::{json, vega};
pub use markdown::markdown;
pub use samples::{LoadSamples, SamplePoint};
pub use sections::report;
pub use text::text;
pub use timeline::{SERIES, Series, Timeline};

use crate::charts::Chart;

/// Everything that a report tells of.
#[derive(Debug, Default)]
pub struct Material<'a> {
    /// The results, in the order in which they were named.
    pub inputs: Vec<Input<'a>>,
    /// What the results differ in, or the levels of an experiment's only factor.
    pub comparison: Option<Comparison>,
    /// What could not be told, and why.
    pub notes: Vec<String>,
    /// Machines that a command can name, as they are without further settings.
    pub machines: Vec<MachineSpec>,
}

/// A report, whatever it is drawn as.
#[derive(Debug, Default)]
pub struct Report {
    /// Its title.
    pub title: String,
    /// The results in a sentence each, the most important first.
    pub verdicts: Vec<Verdict>,
    /// What was measured where: name and value.
    pub facts: Vec<(String, String)>,
    /// The rest.
    pub sections: Vec<Section>,
}

/// A sentence that says what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The sentence.
    pub text: String,
    /// Whether it is good news.
    pub tone: Tone,
}

/// What a figure means for whoever sits in front of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Nothing.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// Better than before.
    Better,
    /// Something to look at.
    Doubtful,
    /// Bad.
    Bad,
    /// It cannot be told.
    Unknown,
}

/// A part of a report under a heading of its own.
#[derive(Debug)]
pub struct Section {
    /// Its name in a link, unique in the report.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What is in it.
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Debug)]
pub enum Block {
    /// A paragraph.
    Sentence(String),
    /// A list.
    List(Vec<String>),
    /// A table.
    Table(Table),
    /// A chart.
    Chart(Box<Chart>),
    /// A command to type.
    Command(String),
    /// Text as it is, which is folded away where that is possible: what it is, and the text.
    Folded(String, String),
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// The heads of its columns.
    pub head: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Its text.
    pub text: String,
    /// What it means.
    pub tone: Tone,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(caption: impl Into<String>, head: &[&str]) -> Self {
        let head = head.iter().map(|name| (*name).to_owned()).collect();
        Self { caption: caption.into(), head, rows: Vec::new() }
    }

    /// Adds a row of cells without a meaning of their own.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Cell::from).collect());
    }
}

impl<S: Into<String>> From<S> for Cell {
    fn from(text: S) -> Self {
        Self { text: text.into(), tone: Tone::Plain }
    }
}

impl Cell {
    /// A cell that means something.
    #[must_use]
    pub fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }
}

impl Report {
    /// The charts, in order.
    pub fn charts(&self) -> impl Iterator<Item = &Chart> {
        self.sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
            Block::Chart(chart) => Some(chart.as_ref()),
            _ => None,
        })
    }
}
