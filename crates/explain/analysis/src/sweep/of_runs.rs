//! Run files as points of a curve: a run is one measurement of one level.

use std::collections::BTreeMap;

use itertools::Itertools;
use model::{CounterSet, Line, Run};
use stats::{bounded_median, mean};

use super::{Point, Pressure};
use crate::runs::of_ending;
use crate::{MemoryWork, Response, Standing, from_runs, increase, joined};

/// The cost of work on memory: time for each touch.
const COST: &str = "touch_ns";
/// Responses of [`from_runs`] that are the cost of other measures; the first that exists counts.
const USUAL: [&str; 2] = ["delay_ns", "elapsed_ns"];

/// A second in ns.
const SECOND_NS: f64 = 1e9;

/// A run as a measurement, with the name and unit of its cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfRun {
    /// The measurement; its level, name and pass are the caller's.
    pub point: Point,
    /// The name of the cost.
    pub response: String,
    /// Its unit.
    pub unit: String,
}

/// What a run measured, with `response` as its cost, if named:
///
/// - Of work on memory (passes that count touches) a figure for each touch over the steady part
///   ([`MemoryWork`]), by default the time in ns.
/// - Else the median of a response of [`from_runs`]: by default delays, or the mean time of users.
///
/// Figures and pressure are those of the same part, except `page_table_bytes`, a size at its end. Counters are
/// the increases of counters that only grow.
pub fn of_run(run: &Run, response: Option<&str>) -> OfRun {
    let mut made = match MemoryWork::from_run(run) {
        Some(work) => of_memory(&work, response),
        None => of_response(run, response),
    };
    made.point.sizes = sizes(run);
    let trial = of_ending(run, None);
    let counts = trial.standing() == Standing::Counts;
    let doubts = made.point.problem.filter(|_| counts || trial.remark().is_none());
    made.point.problem = joined(trial.remark().into_iter().chain(doubts));
    made.point.cost = made.point.cost.filter(|_| counts);
    made
}

fn of_memory(work: &MemoryWork, response: Option<&str>) -> OfRun {
    let mut point = Point { figures: figures(work), ..Point::default() };
    if let Some((before, after)) = &work.counters {
        point.counters = increases(before, after);
        point.pressure = Pressure::between(before, after, work.elapsed_ns as f64);
        let swapped = point.counters.get("vmstat.pswpin").map(|count| ("swap_ins", *count));
        let tables = page_table_bytes(after).map(|bytes| ("page_table_bytes", bytes));
        let more = swapped.into_iter().chain(tables);
        point.figures.extend(more.map(|(name, value)| (name.to_owned(), value)));
    }
    let name = response.unwrap_or(COST);
    let sum = match name {
        COST => point.figures.get("elapsed_ns").copied(),
        "cpu_ns" => work.used(&["user_ns", "system_ns"]).map(|sum| sum as f64),
        other => point.figures.get(other).copied(),
    };
    let touches = (work.touches > 0).then_some(work.touches as f64);
    point.cost = sum.zip(touches).map(|(sum, touches)| sum / touches);
    point.problem = match (touches, point.cost, work.steady_from) {
        (None, ..) => Some("no work was done".to_owned()),
        (_, None, _) => Some(lacks(name, point.figures.keys().map(String::as_str))),
        (_, _, None) => Some("no steady state: all passes count".to_owned()),
        _ => None,
    };
    OfRun { point, response: name.to_owned(), unit: unit_of(name).to_owned() }
}

/// The unit in the name of a response.
fn unit_of(name: &str) -> &'static str {
    if name.ends_with("_ns") { "ns" } else { "" }
}

/// The work and its usage.
fn figures(work: &MemoryWork) -> BTreeMap<String, f64> {
    let used = work.usage.iter().map(|(name, value)| (name.as_str(), *value));
    let own = [("work", work.touches), ("elapsed_ns", work.elapsed_ns)];
    let faults = work.used(&["minor_faults", "major_faults"]).map(|faults| ("faults", faults));
    let all = used.chain(own).chain(faults);
    all.map(|(name, value)| (name.to_owned(), value as f64)).collect()
}

/// The increases of counters that only grow, by source and name.
fn increases(before: &CounterSet, after: &CounterSet) -> BTreeMap<String, f64> {
    let names = after.iter().flat_map(|(source, set)| set.keys().map(move |name| (source, name)));
    let grown = names.filter(|(source, name)| only_grows(source, name));
    let grown = grown.filter_map(|(source, name)| {
        Some((format!("{source}.{name}"), increase(before, after, source, name)? as f64))
    });
    grown.collect()
}

/// Event counters of `vmstat` with names of sizes.
const GROWING: [&str; 5] =
    ["nr_dirtied", "nr_written", "nr_vmscan_", "nr_foll_pin_", "nr_throttled_written"];

/// Whether a counter counts events or time, and is not a size.
fn only_grows(source: &str, name: &str) -> bool {
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    match source {
        "psi" | "memcg_psi" | "cpu_cgroup" | "schedstat" | "taskstats" | "rusage" => true,
        // Counters of simulated machines.
        "hat" | "mmu" => true,
        "vmstat" => name != "workingset_nodes" && (!name.starts_with("nr_") || begins(&GROWING)),
        "stat" => !matches!(name, "procs_blocked" | "procs_running"),
        "task_stat" => !matches!(name, "rss_pages" | "vsize_bytes" | "threads" | "starttime_ticks"),
        "memcg" => {
            let own = name.strip_prefix("total_").unwrap_or(name);
            let starts = ["pg", "workingset_", "thp_", "zswp", "events", "failcnt", "pswp"];
            starts.iter().any(|start| own.starts_with(start))
        }
        // Counters of loads are unknown; meminfo has sizes only.
        _ => false,
    }
}

/// Sizes of the control group, and the names of their counters in both versions.
const SIZES: [(&str, &[&str]); 4] = [
    ("peak_bytes", &["max_usage_in_bytes", "peak_bytes"]),
    ("largest_reading_bytes", &["current_bytes"]),
    ("anonymous_bytes", &["anon", "total_rss"]),
    ("file_bytes", &["file", "total_cache"]),
];

/// The largest sizes of the control group in all readings.
fn sizes(run: &Run) -> BTreeMap<String, f64> {
    let groups =
        || run.lines.iter().flat_map(Line::readings).filter_map(|(_, set)| set.get("memcg"));
    let largest = |counter: &&str| groups().filter_map(|group| group.get(*counter)).max().copied();
    let sizes = SIZES.iter().filter_map(|(name, counters)| {
        Some(((*name).to_owned(), counters.iter().find_map(largest)? as f64))
    });
    sizes.collect()
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
    let usual = set.usual.iter().map(String::as_str).chain(USUAL);
    let name = response.or_else(|| usual.into_iter().find(has));
    let samples = name.and_then(|name| trial.samples(None, name));
    // A session has one figure, so its median is its mean.
    let median = samples.and_then(bounded_median);
    let mut sets = run.lines.iter().flat_map(Line::readings).map(|(_, set)| set);
    let readings = sets.next().zip(sets.last());
    let mut point = Point {
        cost: median.map(|median| median.value),
        is_lower_bound: median.is_some_and(|median| median.is_lower_bound),
        // What a job used for each of its workers.
        figures: trial
            .values
            .iter()
            .filter(|values| values.part.is_none() && values.response != "delay_ns")
            .filter_map(|values| Some((values.response.clone(), mean(&values.at_bounds())?)))
            .collect(),
        counters: readings.map_or_else(BTreeMap::new, |(first, last)| increases(first, last)),
        pressure: Pressure::of_run(run),
        ..Point::default()
    };
    let names = trial.values.iter().map(|values| values.response.as_str());
    point.problem = match (median, name) {
        (None, Some(name)) if !trial.values.is_empty() => Some(lacks(name, names)),
        (None, _) => Some("nothing was measured".to_owned()),
        (Some(median), _) => median.is_lower_bound.then(|| "its cost is a lower bound".to_owned()),
    };
    // A run that died has the name of what it would have measured.
    let name = name.or(set.usual.first().map(String::as_str)).unwrap_or(USUAL[0]);
    // A run that died has a response, too.
    let response = set.responses.get(name).cloned().unwrap_or_else(|| Response::of_figure(name));
    if response.more_is_better() {
        // A cost is less when it is better: the time that one takes.
        point.cost = point.cost.filter(|rate| *rate > 0.0).map(|rate| SECOND_NS / rate);
        let stem = name.strip_suffix("_per_s").unwrap_or(name);
        return OfRun { point, response: format!("{stem}_ns"), unit: "ns".to_owned() };
    }
    OfRun { point, response: name.to_owned(), unit: response.unit }
}

fn lacks<'a>(name: &str, has: impl Iterator<Item = &'a str>) -> String {
    let names = has.sorted().dedup().join(", ");
    format!("no response is named {name:?}; choose from {names}")
}

#[cfg(test)]
mod tests;
