//! What each command of a session took under each load: every invocation, and the median.

use model::{Line, Observation, Run, WorkRecord};
use serde_json::{Value, json};
use stats::{bounded_median, bounded_quantile};

use super::encoding::{by_colour, merged, panels, rounded, tip};
use super::strips::{MOST_PANELS, panel};
use super::{Data, Kind, duration};
use crate::page::{JobRuns, LoadSamples, SamplePoint};
use render::{Cell, Chart, Table, distinct};

pub(super) const KIND: Kind = Kind {
    name: "commands",
    section: "work",
    title: "What each command took, under each load",
    make,
};

/// Most points of all panels together.
const MOST_POINTS: usize = 2400;
/// Most points of one command under one load.
const MOST_OF_ONE: usize = 80;

const WHICH: [(&str, &str); 3] =
    [("first time", "#e08a00"), ("again", "#2f8fcf"), ("not finished", "#d55e00")];

/// One command under one load.
pub(super) struct Invocations<'a> {
    /// The command, and whose session it is where there are several.
    pub(super) panel: String,
    /// The load.
    pub(super) load: &'a str,
    works: Vec<&'a WorkRecord>,
}

impl Invocations<'_> {
    /// Times from start to end in ns, in the order in which they were recorded.
    pub(super) fn times_ns(&self) -> Vec<Observation> {
        let time_ns = |work: &&WorkRecord| {
            let end_ns = work.completed_ns.or(work.censored_at_ns).unwrap_or(work.at_ns);
            let value = end_ns.saturating_sub(work.started_ns).max(1) as f64;
            Observation { value, is_lower_bound: work.completed_ns.is_none() }
        };
        self.works.iter().map(time_ns).collect()
    }

    fn which(&self, index: usize) -> &'static str {
        let work = self.works[index];
        match (work.completed_ns, work.pass) {
            (None, _) => "not finished",
            (Some(_), 0) => "first time",
            _ => "again",
        }
    }
}

/// The commands of all sessions in the order of their scripts, each under all loads.
pub(super) fn invocations<'a>(data: &'a Data<'_>) -> Vec<Invocations<'a>> {
    let sessions = data.jobs.iter().filter(|jobs| !jobs.is_of_memory());
    sessions.flat_map(|jobs| of_session(jobs, &data.job_label(jobs))).collect()
}

fn of_session<'a>(jobs: &JobRuns<'a>, label: &str) -> Vec<Invocations<'a>> {
    let commands = jobs.job.script.as_ref().map_or(&[][..], |script| &script.commands);
    let loads = jobs.by_load();
    let of = |name: &str| {
        let (name, panel) = (name.to_owned(), panel(name, label));
        loads.iter().map(move |(load, runs)| Invocations {
            panel: panel.clone(),
            load,
            works: works(runs, &name),
        })
    };
    let all = commands.iter().flat_map(|command| of(&command.name).collect::<Vec<_>>());
    all.filter(|one| !one.works.is_empty()).collect()
}

fn works<'a>(runs: &[&'a Run], command: &str) -> Vec<&'a WorkRecord> {
    let works = runs.iter().flat_map(|run| &run.lines).filter_map(|line| match line {
        Line::Work(work) => Some(&**work),
        _ => None,
    });
    works.filter(|work| work.item == command).collect()
}

fn make(data: &Data<'_>) -> Vec<Chart> {
    let mut all = invocations(data);
    let mut order: Vec<String> = distinct(all.iter().map(|one| one.panel.clone()));
    let is_cut = order.len() > MOST_PANELS;
    order.truncate(MOST_PANELS);
    all.retain(|one| order.contains(&one.panel));
    if all.is_empty() {
        return Vec::new();
    }
    let most = (MOST_POINTS / all.len()).clamp(8, MOST_OF_ONE);
    let mut values: Vec<Value> = Vec::new();
    let mut table =
        Table::new("", ["command", "load", "times", "not finished", "median", "longest"]);
    let loads: Vec<&str> = distinct(all.iter().map(|one| one.load));
    for one in &all {
        let times_ns = one.times_ns();
        values.extend(drawn(one, &times_ns, most));
        let quantile = |part| Cell::from(bounded_quantile(&times_ns, part).map(Cell::observed));
        let unfinished = times_ns.iter().filter(|time| time.is_lower_bound).count();
        let (panel, load) = (Cell::from(&one.panel), Cell::from(one.load));
        let counts = [times_ns.len().into(), unfinished.into()];
        table.row([panel, load].into_iter().chain(counts).chain([0.5, 1.0].map(quantile)));
    }
    let every_ns: Vec<f64> =
        all.iter().flat_map(Invocations::times_ns).map(|time| time.value).collect();
    let axis = duration::log_axis("time from start to end", every_ns.into_iter());
    let columns = if order.len() < 3 { 2 } else { 3 };
    let body = merged(panels("panel", &order, columns), json!({ "spec": spec(&axis, &loads) }));
    let reading = format!(
        "Each point is a command that somebody issued, at the time it took, logarithmic; the grey \
         bar is the median. The first time is that of each user's first pass.{}{}",
        if all.iter().any(|one| one.works.len() > most) {
            " Of many the slowest and evenly spaced others are drawn."
        } else {
            ""
        },
        if is_cut { " Only the first commands are drawn." } else { "" },
    );
    vec![KIND.chart(reading, values, body, table)]
}

/// The points of one command under one load, and their median.
fn drawn(one: &Invocations<'_>, times_ns: &[Observation], most: usize) -> Vec<Value> {
    let points = times_ns.iter().enumerate().map(|(index, time)| SamplePoint {
        number: index,
        delay_ns: time.value,
        censored: time.is_lower_bound,
    });
    let all = LoadSamples { load: one.load.to_owned(), points: points.collect() };
    let point = |point: SamplePoint| {
        let work = one.works[point.number];
        json!({ "panel": one.panel, "load": one.load, "time": rounded(point.delay_ns),
                "which": one.which(point.number), "who": format!("user {}", work.worker) })
    };
    let mut values: Vec<Value> = all.thinned(most).into_iter().map(point).collect();
    values.extend(bounded_median(times_ns).map(
        |median| json!({ "panel": one.panel, "load": one.load, "median": rounded(median.value) }),
    ));
    values
}

fn spec(axis: &Value, loads: &[&str]) -> Value {
    let tip = tip();
    let y = json!({ "field": "load", "type": "nominal", "sort": loads, "title": null,
                    "axis": { "labelLimit": 90 } });
    let domain: Vec<&str> = WHICH.iter().map(|(name, _)| *name).collect();
    json!({
        "width": 250,
        "height": { "step": 24 },
        "layer": [{
            "transform": [
                { "filter": "isValid(datum.time)" },
                { "calculate": format!(
                    "datum.panel + ' under ' + datum.load + ', ' + datum.who + ', ' + datum.which + ': ' + ({})",
                    duration::expression("datum.time")
                  ), "as": "tip" },
            ],
            "mark": { "type": "point", "filled": true, "size": 32, "opacity": 0.7 },
            "encoding": {
                "x": merged(axis.clone(), json!({ "field": "time" })),
                "y": y,
                "color": by_colour("which", &WHICH),
                "shape": { "field": "which", "type": "nominal", "title": null,
                           "scale": { "domain": domain,
                                      "range": ["diamond", "circle", "triangle-up"] },
                           "legend": { "orient": "bottom" } },
                "description": tip, "tooltip": tip,
            },
        }, {
            "transform": [{ "filter": "isValid(datum.median)" }],
            "mark": { "type": "tick", "thickness": 3, "size": 18, "color": "#888888", "aria": false },
            "encoding": { "x": merged(axis.clone(), json!({ "field": "median" })), "y": y },
        }],
    })
}
