//! The time of each command of a session or of the user under each load: every invocation, and the
//! median.

use model::{Line, Measure, Observation, WorkRecord};
use serde_json::{Value, json};
use stats::{bounded_median, bounded_quantile};

use super::Data;
use super::strips::{MOST_PANELS, panel};
use crate::page::{JobRuns, thinned};
use analysis::distinct;
use render::charts::{domain, rounded, ticks};
use render::{Cell, Table};

const MOST_POINTS: usize = 2400;
const MOST_OF_ONE: usize = 80;
/// How an invocation ended, with its colour and shape.
const KINDS: [(&str, &str, &str); 4] = [
    ("first time", "#e08a00", "diamond"),
    ("again", "#2f8fcf", "circle"),
    ("failed", "#999999", "cross"),
    ("not finished", "#d55e00", "triangle-up"),
];

pub(super) struct Invocations<'a> {
    /// The command, and its session if there are several.
    pub(super) panel: String,
    pub(super) load: &'a str,
    works: Vec<&'a WorkRecord>,
    /// Whether these are repetitions of a user's command: no user of a session issued them, and a
    /// failure may end the command.
    is_repetition: bool,
}

impl Invocations<'_> {
    /// Elapsed times in ns in the order of the records.
    pub(super) fn times_ns(&self) -> Vec<Observation> {
        let times_ns = self.works.iter().filter_map(|work| work.elapsed_ns());
        times_ns.map(|time| Observation { value: time.value.max(1.0), ..time }).collect()
    }
}

/// The commands of all sessions in script order, each under all loads.
pub(super) fn invocations<'a>(data: &'a Data<'_>) -> Vec<Invocations<'a>> {
    let sessions = data.jobs.iter().filter(|jobs| !jobs.is_of_memory());
    sessions.flat_map(|jobs| of_session(jobs, &data.job_label(jobs))).collect()
}

fn of_session<'a>(jobs: &JobRuns<'a>, label: &str) -> Vec<Invocations<'a>> {
    let loads = jobs.by_load();
    let mut all = Vec::new();
    for name in names(jobs) {
        all.extend(loads.iter().map(|(load, runs)| {
            let works = runs.iter().flat_map(|run| &run.lines).filter_map(|line| match line {
                Line::Work(work) if work.item == name && work.elapsed_ns().is_some() => {
                    Some(&**work)
                }
                _ => None,
            });
            let is_repetition = jobs.is_of_command();
            Invocations { panel: panel(name, label), load, works: works.collect(), is_repetition }
        }));
    }
    all.retain(|one| !one.works.is_empty());
    all
}

/// The commands of a script, or those of the user, in order of first occurrence.
fn names<'a>(jobs: &JobRuns<'a>) -> Vec<&'a str> {
    if let Measure::Session(session) = jobs.job {
        let script = &session.script;
        return script.commands.iter().map(|command| command.name.as_str()).collect();
    }
    distinct(jobs.runs.iter().flat_map(|run| run.works()).map(|work| work.item.as_str()))
}

pub(super) fn make(data: &Data<'_>) -> Vec<(Value, Table)> {
    let mut all = invocations(data);
    let mut order: Vec<String> = distinct(all.iter().map(|one| one.panel.clone()));
    let is_cut = order.len() > MOST_PANELS;
    order.truncate(MOST_PANELS);
    all.retain(|one| order.contains(&one.panel));
    let most = (MOST_POINTS / all.len().max(1)).clamp(8, MOST_OF_ONE);
    let (mut values, mut every_ns) = (Vec::new(), Vec::new());
    let mut table =
        Table::new("", ["command", "load", "times", "not finished", "median", "longest"]);
    for one in &all {
        let times_ns = one.times_ns();
        every_ns.extend(times_ns.iter().map(|time| time.value));
        values.extend(drawn(one, &times_ns, most));
        let quantile = |part| Cell::from(bounded_quantile(&times_ns, part).map(Cell::Duration));
        let unfinished = times_ns.iter().filter(|time| time.is_lower_bound).count();
        let (panel, load) = (Cell::from(&one.panel), Cell::from(one.load));
        let counts = [times_ns.len().into(), unfinished.into()];
        table.row([panel, load].into_iter().chain(counts).chain([0.5, 1.0].map(quantile)));
    }
    let is_drawn = |kind: &&(&str, &str, &str)| values.iter().any(|it| it["which"] == kind.0);
    let kinds: Vec<_> = KINDS.iter().filter(is_drawn).collect();
    let [names, colours, shapes] = [
        kinds.iter().map(|kind| kind.0).collect::<Vec<_>>(),
        kinds.iter().map(|kind| kind.1).collect(),
        kinds.iter().map(|kind| kind.2).collect(),
    ];
    let parts = json!({
        "kinds": names, "colours": colours, "shapes": shapes,
        "values": values, "domain": domain(&every_ns), "ticks": ticks(&every_ns),
        "columns": if order.len() < 3 { 2 } else { 3 }, "order": order,
        "loads": distinct(all.iter().map(|one| one.load)),
        "thinned": all.iter().any(|one| one.works.len() > most), "cut": is_cut,
    });
    vec![(parts, table)]
}

fn drawn(one: &Invocations<'_>, times_ns: &[Observation], most: usize) -> Vec<Value> {
    let point = |index: usize| {
        let work = one.works[index];
        let which = match (work.completed_ns, work.pass) {
            (None, _) => "not finished",
            _ if one.is_repetition && work.failure.is_some() => "failed",
            (Some(_), 0) => "first time",
            _ => "again",
        };
        let who = match one.is_repetition {
            true => format!("repetition {}", work.pass + 1),
            false => format!("user {}", work.worker),
        };
        json!({ "panel": one.panel, "load": one.load, "time": rounded(times_ns[index].value),
                "which": which, "who": who })
    };
    let mut values: Vec<Value> = thinned(times_ns, most).into_iter().map(point).collect();
    values.extend(bounded_median(times_ns).map(
        |median| json!({ "panel": one.panel, "load": one.load, "median": rounded(median.value) }),
    ));
    values
}
