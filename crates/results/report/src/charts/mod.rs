//! Charts as Vega-Lite specifications (<https://vega.github.io/vega-lite/>): for each kind a template
//! in `crates/results/report/charts`, or in the folder `charts` of another crate, and a file that fills it.
//!
//! A specification contains a bounded amount of data and no theme, which the renderer adds. The
//! descriptions of marks are for screen readers.

mod command_ratios;
mod commands;
mod counters;
mod ecdf;
mod findings;
mod flame;
mod forest;
mod heat;
mod interaction;
mod knee;
mod looks;
mod matrix;
mod split;
mod strips;
mod timeline;
mod touch_cost;
mod touches;
mod verdicts;
mod waterfall;

use serde_json::Value;

pub(crate) use findings::found;
pub(crate) use flame::flame_chart;
pub(crate) use matrix::verdict as tile_verdict;
pub(crate) use strips::panel;
pub(crate) use timeline::timeline_chart;

use crate::page::{JobRuns, Material, Measurement};
use render::charts::chart;
use render::{Chart, Table};

#[derive(Debug)]
pub(crate) struct Data<'a> {
    pub(crate) material: &'a Material<'a>,
    pub(crate) measurements: Vec<Measurement>,
    pub(crate) jobs: Vec<JobRuns<'a>>,
}

/// A kind of chart.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// The id of its section in a report.
    pub(crate) section: &'static str,
    /// What it shows.
    pub title: &'static str,
    template: &'static str,
    /// The parts that fill the template of each chart, and its table; one without values is left out.
    make: fn(&Data<'_>) -> Vec<(Value, Table)>,
}

/// Each kind has a file here, a name, which is that of its template, a section and a title.
macro_rules! kinds {
    ($($file:ident $name:literal $section:literal $title:literal $(in $folder:literal)?;)*) => {
        /// All kinds in the order of a report.
        pub const ALL: &[Kind] = &[$(Kind {
            name: $name,
            section: $section,
            title: $title,
            template: include_str!(concat!("../../", $($folder,)? "charts/", $name, ".vl.json")),
            make: $file::make,
        }),*];
    };
}

kinds! {
    matrix "matrix" "responsiveness" "Responsiveness, load by load";
    verdicts "comparison" "comparison" "What differs, by how much";
    looks "looks" "comparison" "The ratio, look by look";
    forest "ratios" "responsiveness" "Times the time without load";
    strips "samples" "responsiveness" "Every response, in the order of time";
    ecdf "ecdf" "responsiveness" "How long responses take, as distributions";
    split "delay-split" "delays" "What slow responses consist of";
    knee "knee" "sweep" "Cost over level, and the knee" in "../curves/";
    heat "map" "sweep" "Cost over two parameters";
    waterfall "waterfall" "attribution" "What caused the change";
    interaction "interaction" "attribution" "How the effect of one factor depends on another";
    command_ratios "command-ratios" "work" "Commands: times the time without load";
    commands "commands" "work" "What each command took under each load";
    touch_cost "touch-cost" "work" "What a touch of memory costs, by load and level";
    touches "touches" "work" "What a touch of memory costs, pass by pass";
    findings "findings" "findings" "Conditions by the time that they cost";
    counters "counters" "counters" "What the kernel counted, run by run";
}

/// The name of a chart among several of a kind, unique in a document.
pub(crate) fn numbered(name: &str, index: usize) -> String {
    if index == 0 { name.to_owned() } else { format!("{name}-{}", index + 1) }
}

impl Kind {
    /// The charts of this kind, with unique names.
    pub(crate) fn charts(&self, data: &Data<'_>) -> Vec<Chart> {
        let chart = |(index, (parts, table)): (usize, (Value, Table))| {
            let chart = chart(self.name, self.title, self.template, (&parts, table));
            Chart { name: numbered(self.name, index), ..chart }
        };
        let has_values = |(parts, _): &(Value, Table)| {
            parts["values"].as_array().is_some_and(|it| !it.is_empty())
        };
        (self.make)(data).into_iter().filter(has_values).enumerate().map(chart).collect()
    }
}

impl Data<'_> {
    /// The name of a measurement among the others; empty if it is the only one.
    pub(crate) fn label(&self, measurement: &Measurement) -> String {
        let several_inputs = self.material.inputs.len() > 1;
        let same_input = |other: &&Measurement| other.input == measurement.input;
        let several_labels = self.measurements.iter().filter(same_input).count() > 1;
        let name = &*self.material.inputs[measurement.input].name;
        let names = [(several_inputs, name), (several_labels, &*measurement.label)];
        let names = names.iter().filter(|(is_shown, _)| *is_shown).map(|(_, name)| *name);
        names.collect::<Vec<_>>().join(": ")
    }

    /// The name of a job's runs among the others; empty if they are the only ones.
    pub(crate) fn job_label(&self, jobs: &JobRuns<'_>) -> String {
        let several_inputs = self.material.inputs.len() > 1;
        let several_jobs = self.jobs.iter().any(|other| other.job.name() != jobs.job.name());
        let input = if several_inputs { &*self.material.inputs[jobs.input].name } else { "" };
        let job = if several_jobs { jobs.job.name() } else { "" };
        let parts = [input, job, jobs.cell].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use render::charts::duration;

    #[test]
    fn all_templates_can_be_read_and_spell_durations_alike() {
        for kind in ALL {
            let template: Value = serde_json::from_str(kind.template).unwrap();
            assert!(template["description"].is_array(), "{}", kind.name);
            for (before, _) in kind.template.match_indices(" >= 1e9 ? ") {
                let value = kind.template[..before].rsplit('(').next().unwrap();
                assert!(kind.template.contains(&format!("({})", duration(value))), "{}", kind.name);
            }
        }
    }
}
