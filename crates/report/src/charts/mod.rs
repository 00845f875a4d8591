//! Charts as Vega-Lite specifications (<https://vega.github.io/vega-lite/>), one kind a file.
//!
//! A specification carries its data, which is bounded however many samples there were, and names no
//! theme: whoever draws it adds that. What a mark means for readers of a screen is its description.

mod command_ratios;
mod commands;
mod counters;
mod duration;
mod ecdf;
mod encoding;
mod findings;
mod forest;
mod heat;
mod interaction;
mod knee;
mod matrix;
mod split;
mod strips;
mod touch_cost;
mod touches;
mod verdicts;
mod waterfall;

use serde_json::{Value, json};

pub(crate) use findings::{found, tone};
pub(crate) use matrix::verdict as tile_verdict;

use crate::page::{JobRuns, Material, Measurement};
use render::{Chart, Table};

/// Which language the specifications are written in.
const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v6.json";

/// What charts are made of.
#[derive(Debug)]
pub(crate) struct Data<'a> {
    /// The results.
    pub(crate) material: &'a Material<'a>,
    /// What probes measured in them.
    pub(crate) measurements: Vec<Measurement>,
    /// The runs of jobs in them.
    pub(crate) jobs: Vec<JobRuns<'a>>,
}

/// A kind of chart.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// The section of the report in which it stands: its place in a link.
    pub(crate) section: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The charts of this kind that there are data for.
    pub(crate) make: fn(&Data<'_>) -> Vec<Chart>,
}

/// All kinds, in the order in which a report shows them.
pub const ALL: &[&Kind] = &[
    &matrix::KIND,
    &verdicts::KIND,
    &forest::KIND,
    &strips::KIND,
    &ecdf::KIND,
    &split::KIND,
    &knee::KIND,
    &heat::KIND,
    &waterfall::KIND,
    &interaction::KIND,
    &command_ratios::KIND,
    &commands::KIND,
    &touch_cost::KIND,
    &touches::KIND,
    &findings::KIND,
    &counters::KIND,
];

impl Kind {
    /// The charts of this kind, each with a name of its own.
    pub(crate) fn charts(&self, data: &Data<'_>) -> Vec<Chart> {
        let mut charts = (self.make)(data);
        for (index, chart) in charts.iter_mut().enumerate() {
            chart.name = match index {
                0 => self.name.to_owned(),
                _ => format!("{}-{}", self.name, index + 1),
            };
        }
        charts
    }

    /// A chart of this kind; `body` is the specification without what all have in common.
    fn chart(&self, reading: String, values: Vec<Value>, body: Value, table: Table) -> Chart {
        let mut spec = json!({
            "$schema": SCHEMA,
            "description": format!("{}. {reading}", self.title),
            "data": { "values": values },
        });
        if let (Some(spec), Value::Object(body)) = (spec.as_object_mut(), body) {
            if body.get("width").is_some_and(|width| width == "container") {
                let fit = json!({ "type": "fit-x", "contains": "padding" });
                spec.insert("autosize".to_owned(), fit);
            }
            spec.extend(body);
        }
        Chart {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            reading,
            spec,
            table: Table { caption: format!("{} in figures", self.title), ..table },
        }
    }
}

impl Data<'_> {
    /// What a measurement is called beside the others; empty if it is the only one.
    pub(crate) fn label(&self, measurement: &Measurement) -> String {
        let several_inputs = self.material.inputs.len() > 1;
        let same_input = |other: &&Measurement| other.input == measurement.input;
        let several_labels = self.measurements.iter().filter(same_input).count() > 1;
        let name = &self.material.inputs[measurement.input].name;
        match (several_inputs, several_labels) {
            (false, false) => String::new(),
            (true, false) => name.clone(),
            (false, true) => measurement.label.clone(),
            (true, true) => format!("{name}: {}", measurement.label),
        }
    }

    /// What runs of a job are called beside the others; empty if there are none.
    pub(crate) fn job_label(&self, jobs: &JobRuns<'_>) -> String {
        let name = self.material.inputs[jobs.input].name.as_str();
        let several_inputs = self.material.inputs.len() > 1;
        let several_jobs = self.jobs.iter().any(|other| other.job.name != jobs.job.name);
        let parts = [
            Some(name).filter(|_| several_inputs),
            Some(jobs.job.name.as_str()).filter(|_| several_jobs),
            Some(jobs.cell),
        ];
        let parts: Vec<&str> = parts.into_iter().flatten().filter(|it| !it.is_empty()).collect();
        parts.join(" ")
    }
}

#[cfg(test)]
mod tests;
