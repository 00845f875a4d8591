//! Answers as lines of JSON.

use std::io::{self, Write};

use analysis::sweep::{Curve, Settings, SweepResult};
use curves::{KNEE_TEMPLATE, SweepRow, SweepView, knee_parts};
use render::{Block, Chart, Document, charts, fragment};
use serde::Serialize;
use serde_json::Value;

use crate::choices::Choices;

/// A line of an answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reply {
    /// What can be chosen.
    Choices(Choices),
    /// A result, complete or as far as it is measured.
    Result(Part),
    /// Why nothing can be shown.
    Refused(String),
}

/// A part of a page.
#[derive(Debug, Serialize)]
pub(crate) struct Part {
    /// Whether nothing follows.
    pub(crate) done: bool,
    /// Its HTML.
    pub(crate) html: String,
    /// The specifications of its charts by name.
    pub(crate) charts: Value,
    /// The columns of a table.
    pub(crate) columns: Vec<String>,
    /// The columns taken as level and cost; `None` if their names say which they are.
    pub(crate) chosen: Option<[String; 2]>,
}

impl Part {
    /// A document as part of a page.
    pub(crate) fn new(document: &Document<'_>, done: bool) -> Self {
        let (html, charts) = fragment(document);
        Self { done, html, charts, columns: Vec::new(), chosen: None }
    }
}

/// Curves with their labels and knees, as the texts and charts of sweeps take them.
pub(crate) fn view<'a>(
    place: String,
    by: Option<String>,
    rows: impl Iterator<Item = (String, &'a Curve, SweepResult)>,
    settings: &Settings,
) -> SweepView<'a> {
    let rows = rows.map(|(label, curve, found)| SweepRow { label, curve, found }).collect();
    let least_rise = settings.knee.least_rise;
    SweepView { place, settings: Vec::new(), by, rows, grid: None, observed: None, least_rise }
}

/// The chart of cost over level with this name, unless there is nothing to draw.
pub(crate) fn knee_chart(name: &str, view: &SweepView<'_>) -> Option<Chart> {
    let (parts, table) = knee_parts(view)?;
    let title = "Cost over level, and the knee";
    let has_values = parts["values"].as_array().is_some_and(|values| !values.is_empty());
    has_values.then(|| charts::chart(name, title, KNEE_TEMPLATE, (&parts, table)))
}

/// Replaces the drawings of a terminal with a chart.
pub(crate) fn drawn<'a>(mut document: Document<'a>, chart: Option<Chart>) -> Document<'a> {
    document.blocks.retain(|block| !matches!(block, Block::Verbatim(_)));
    document.blocks.splice(0..0, chart.map(|chart| Block::Chart(Box::new(chart))));
    document
}

/// Writes a line.
pub(crate) fn send(output: &mut dyn Write, reply: &Reply) -> io::Result<()> {
    serde_json::to_writer(&mut *output, reply)?;
    output.write_all(b"\n")?;
    output.flush()
}
