//! A report: results as sections of sentences, tables and charts, which are then drawn as one HTML
//! file, as Markdown or as text.

mod command;
mod environment;
mod html;
mod input;
mod jobs;
mod json;
mod markdown;
mod material;
mod samples;
mod sections;
mod table;
mod text;
mod timeline;

pub use html::html;
pub use input::{Diagnosed, Input, Measurement};
pub(crate) use jobs::JobRuns;
pub use json::{json, vega};
pub use markdown::markdown;
pub use material::Material;
pub use samples::{LoadSamples, SamplePoint};
pub use sections::report;
pub use table::{Cell, Table, Tone};
pub use text::text;
pub use timeline::{SERIES, Series, Timeline};

use crate::charts::Chart;

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

impl Report {
    /// The charts, in order.
    pub fn charts(&self) -> impl Iterator<Item = &Chart> {
        self.sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
            Block::Chart(chart) => Some(chart.as_ref()),
            _ => None,
        })
    }
}
