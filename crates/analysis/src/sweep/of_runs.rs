//! Run files as points of a curve: a run is one measurement of one level.

use std::collections::BTreeMap;

use model::{CounterSet, EndStatus, Line, Measure, PassRecord, Run};
use stats::{SteadySettings, mean, median, steady_from};

use super::Point;
use crate::runs::problems;
use crate::{Trial, from_runs};

/// What stands for the cost of work on memory: time for each touch.
const COST: &str = "cost_ns";
/// Responses of [`from_runs`] that stand for the cost of any other measure, the first one that it
/// has.
const USUAL: [&str; 2] = ["delay_ns", "elapsed_ns"];
/// Touches of a pass: the unit of work of the memory jobs.
const TOUCHES: &str = "touches";

/// A run as a measurement, with the name and unit of its cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfRun {
    /// The measurement; its level, name and pass are the caller's to say.
    pub point: Point,
    /// What stands for the cost.
    pub response: String,
    /// Its unit.
    pub unit: String,
}

/// What a run measured. `response` names what stands for the cost:
///
/// - Work on memory (passes that count touches) has by itself the time for each touch, in ns,
///   over the steady part of the run: from the pass on from which [`steady_from`] finds the costs
///   of passes steady. Without such a pass all count, and the point says so. Named, it is any
///   other figure of the passes for each touch (`system_ns`, `faults`).
/// - A probe has the median of its delays, a session the mean time of its users; named, it is any
///   response of [`from_runs`], by its median.
///
/// Figures are sums over the same part. Counters are what counters that only grow have grown by
/// between its two ends; levels such as free memory are none. Page tables are a level that matters
/// here: the figure `page_table_bytes` is their size at the end.
#[must_use]
pub fn of_run(run: &Run, response: Option<&str>) -> OfRun {
    let mut made = match memory_work(run) {
        Some(passes) => of_passes(run, &passes, response),
        None => of_response(run, response),
    };
    let own = problems(run);
    let all: Vec<String> = own.into_iter().chain(made.point.problem.take()).collect();
    made.point.problem = (!all.is_empty()).then(|| all.join("; "));
    if matches!(run.status(), EndStatus::Interrupted | EndStatus::Killed) {
        made.point.cost = None;
    }
    made
}

/// The passes of a job on memory; `None` of another measure.
fn memory_work(run: &Run) -> Option<Vec<&PassRecord>> {
    let spec = &run.header.as_ref()?.spec;
    match &spec.measure {
        Measure::Job(job) if job.script.is_none() => Some(
            run.lines
                .iter()
                .filter_map(|line| match line {
                    Line::Pass(pass) if pass.usage.contains_key(TOUCHES) => Some(&**pass),
                    _ => None,
                })
                .collect(),
        ),
        _ => None,
    }
}

fn elapsed_ns(pass: &PassRecord) -> f64 {
    pass.completed_ns.saturating_sub(pass.started_ns) as f64
}

fn of_passes(run: &Run, passes: &[&PassRecord], response: Option<&str>) -> OfRun {
    let touches = |pass: &PassRecord| pass.usage.get(TOUCHES).copied().unwrap_or(0) as f64;
    let costs: Vec<f64> = passes.iter().map(|pass| elapsed_ns(pass) / touches(pass)).collect();
    let steady = steady_from(&costs, &SteadySettings::default());
    let part = &passes[steady.unwrap_or(0)..];
    let mut point = Point { figures: figures(part), ..Point::default() };
    if let (Some(first), Some(last)) = (part.first(), part.last()) {
        let (before, after) = around(run, first, last);
        if let Some(before) = before {
            point.counters = increases(before, after.unwrap_or(before));
        }
        let swapped = point.counters.get("vmstat.pswpin").copied();
        point.figures.extend(swapped.map(|count| ("swap_ins".to_owned(), count)));
        point.figures.extend(
            after.and_then(page_table_bytes).map(|bytes| ("page_table_bytes".to_owned(), bytes)),
        );
    }
    let name = response.unwrap_or(COST);
    let sum = match name {
        COST => point.figures.get("elapsed_ns"),
        other => point.figures.get(other),
    };
    let work = point.figures.get("work").copied().filter(|work| *work > 0.0);
    point.cost = sum.zip(work).map(|(sum, work)| sum / work);
    point.problem = match (work, point.cost, steady) {
        (None, ..) => Some("no work was done".to_owned()),
        (_, None, _) => Some(lacks(name, point.figures.keys().map(String::as_str))),
        (_, _, None) => Some("no steady state: all passes count".to_owned()),
        _ => None,
    };
    let unit = if name.ends_with("_ns") { "ns" } else { "" };
    OfRun { point, response: name.to_owned(), unit: unit.to_owned() }
}

/// Sums of what passes used, and what they are sums of.
fn figures(passes: &[&PassRecord]) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    let Some(first) = passes.first() else { return figures };
    figures.insert("elapsed_ns".to_owned(), passes.iter().map(|pass| elapsed_ns(pass)).sum());
    for name in first.usage.keys() {
        // A sum without one of its parts would be another sum.
        let sum: Option<f64> =
            passes.iter().map(|pass| pass.usage.get(name).map(|value| *value as f64)).sum();
        let name = if name == TOUCHES { "work" } else { name };
        // How many processes there are and how often they loop is the same in every pass.
        if !matches!(name, "processes" | "loops") {
            figures.extend(sum.map(|sum| (name.to_owned(), sum)));
        }
    }
    if let (Some(minor), Some(major)) = (figures.get("minor_faults"), figures.get("major_faults")) {
        figures.insert("faults".to_owned(), minor + major);
    }
    figures
}

/// The counters that were read last before a pass began and first after another was over.
fn around<'a>(
    run: &'a Run,
    first: &PassRecord,
    last: &PassRecord,
) -> (Option<&'a CounterSet>, Option<&'a CounterSet>) {
    let sets = || {
        run.lines.iter().filter_map(|line| match line {
            Line::Counters(record) => Some((record.at_ns, &record.counters)),
            _ => None,
        })
    };
    let before = sets().take_while(|(at_ns, _)| *at_ns <= first.started_ns).last();
    let after = sets().find(|(at_ns, _)| *at_ns >= last.completed_ns);
    (before.map(|(_, set)| set), after.map(|(_, set)| set))
}

/// By how much counters that only grow have grown, by source and name.
fn increases(before: &CounterSet, after: &CounterSet) -> BTreeMap<String, f64> {
    let mut grown = BTreeMap::new();
    for (source, counters) in after {
        let Some(former) = before.get(source) else { continue };
        for (name, value) in counters {
            let increase = former.get(name).and_then(|former| value.checked_sub(*former));
            if let Some(increase) = increase.filter(|_| only_grows(source, name)) {
                grown.insert(format!("{source}.{name}"), increase as f64);
            }
        }
    }
    grown
}

/// Counters of `vmstat` that count events though they are named as sizes are.
const GROWING: [&str; 5] =
    ["nr_dirtied", "nr_written", "nr_vmscan_", "nr_foll_pin_", "nr_throttled_written"];

/// Whether a counter counts events or adds up time, and is not the size of something.
fn only_grows(source: &str, name: &str) -> bool {
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    match source {
        "psi" | "memcg_psi" | "cpu_cgroup" | "schedstat" | "taskstats" | "rusage" => true,
        "vmstat" => name != "workingset_nodes" && (!name.starts_with("nr_") || begins(&GROWING)),
        "stat" => !matches!(name, "procs_blocked" | "procs_running"),
        "task_stat" => !matches!(name, "rss_pages" | "vsize_bytes" | "threads" | "starttime_ticks"),
        "memcg" => {
            let own = name.strip_prefix("total_").unwrap_or(name);
            let starts = ["pg", "workingset_", "thp_", "zswp", "events", "failcnt", "pswp"];
            starts.iter().any(|start| own.starts_with(start))
        }
        // Of a load nobody but itself knows; meminfo has sizes only.
        _ => false,
    }
}

/// Size of all page tables, of the control group if it has them.
fn page_table_bytes(set: &CounterSet) -> Option<f64> {
    let of = |source: &str, name: &str| set.get(source)?.get(name).map(|value| *value as f64);
    of("memcg", "pagetables").or_else(|| Some(of("meminfo", "PageTables_kb")? * 1024.0))
}

/// A probe or session.
fn of_response(run: &Run, response: Option<&str>) -> OfRun {
    let set = from_runs("", &[(String::new(), run.clone())]);
    let Some(trial) = set.trials.first() else {
        let problem = Some("killed before it began".to_owned());
        return OfRun { point: Point { problem, ..Point::default() }, ..OfRun::default() };
    };
    let has = |name: &&str| trial.samples(None, name).is_some();
    let name = response.or_else(|| USUAL.into_iter().find(has));
    let samples = name.and_then(|name| trial.samples(None, name));
    let mut point = Point {
        // A session has one figure, so its median is its mean.
        cost: samples.and_then(median),
        figures: means(trial),
        counters: sampled(run),
        ..Point::default()
    };
    if let (None, Some(name)) = (point.cost, name) {
        let names = trial.values.iter().map(|values| values.response.as_str());
        point.problem = Some(lacks(name, names));
    } else if point.cost.is_none() {
        point.problem = Some("nothing was measured".to_owned());
    }
    let name = name.unwrap_or(USUAL[0]);
    let unit = set.responses.get(name).map(|response| response.unit.clone());
    OfRun { point, response: name.to_owned(), unit: unit.unwrap_or_default() }
}

/// What a job used for each of its workers.
fn means(trial: &Trial) -> BTreeMap<String, f64> {
    trial
        .values
        .iter()
        .filter(|values| values.part.is_none() && values.response != "delay_ns")
        .filter_map(|values| Some((values.response.clone(), mean(&values.samples)?)))
        .collect()
}

/// What counters grew by from the first to the last look at them.
fn sampled(run: &Run) -> BTreeMap<String, f64> {
    let mut sets: Vec<&CounterSet> = Vec::new();
    for line in &run.lines {
        match line {
            Line::Sample(sample) => sets.extend([&sample.before, &sample.after]),
            Line::Histogram(record) => sets.extend([&record.before, &record.after]),
            Line::Counters(record) => sets.push(&record.counters),
            _ => {}
        }
    }
    match (sets.first(), sets.last()) {
        (Some(first), Some(last)) => increases(first, last),
        _ => BTreeMap::new(),
    }
}

fn lacks<'a>(name: &str, has: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = has.collect();
    names.sort_unstable();
    names.dedup();
    format!("no response is named {name:?}; there are {}", names.join(", "))
}

#[cfg(test)]
mod tests;
