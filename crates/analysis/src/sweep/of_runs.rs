//! Run files as points of a curve: a run is one measurement of one level.

use std::collections::{BTreeMap, BTreeSet};

use model::{CounterSet, Line, Run};
use stats::{bounded_median, mean};

use super::Point;
use crate::runs::of_ending;
use crate::{MemoryWork, Standing, from_runs};

/// What stands for the cost of work on memory: time for each touch.
const COST: &str = "touch_ns";
/// Responses of [`from_runs`] that stand for the cost of other measures, the first that there is.
const USUAL: [&str; 2] = ["delay_ns", "elapsed_ns"];
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
///   over the steady part of the run ([`MemoryWork`]). Without such a part all of it counts, which
///   the point says. Named, it is any other figure of the passes for each touch (`system_ns`).
/// - A probe has the median of its delays, a session the mean time of its users; named, it is any
///   response of [`from_runs`], by its median.
///
/// Figures are sums over the same part. Counters are what counters that only grow have grown by
/// between its two ends; levels such as free memory are none. Page tables are a level that matters
/// here: the figure `page_table_bytes` is their size at the end.
pub fn of_run(run: &Run, response: Option<&str>) -> OfRun {
    let mut made = match MemoryWork::of(run) {
        Some(work) => of_memory(&work, response),
        None => of_response(run, response),
    };
    let problem = made.point.problem.take();
    let trial = of_ending(run, None);
    let all: Vec<String> = trial.remark().into_iter().chain(problem).collect();
    made.point.problem = (!all.is_empty()).then(|| all.join("; "));
    made.point.cost = made.point.cost.filter(|_| trial.standing() == Standing::Counts);
    made
}

fn of_memory(work: &MemoryWork, response: Option<&str>) -> OfRun {
    let mut point = Point { figures: figures(work), ..Point::default() };
    if let Some((before, after)) = &work.counters {
        point.counters = increases(before, after);
        let swapped = point.counters.get("vmstat.pswpin").map(|count| ("swap_ins", *count));
        let tables = page_table_bytes(after).map(|bytes| ("page_table_bytes", bytes));
        let more = swapped.into_iter().chain(tables);
        point.figures.extend(more.map(|(name, value)| (name.to_owned(), value)));
    }
    let name = response.unwrap_or(COST);
    let sum = match name {
        COST => point.figures.get("elapsed_ns"),
        other => point.figures.get(other),
    };
    let touches = (work.touches > 0).then_some(work.touches as f64);
    point.cost = sum.zip(touches).map(|(sum, touches)| sum / touches);
    point.problem = match (touches, point.cost, work.steady_from) {
        (None, ..) => Some("no work was done".to_owned()),
        (_, None, _) => Some(lacks(name, point.figures.keys().map(String::as_str))),
        (_, _, None) => Some("no steady state: all passes count".to_owned()),
        _ => None,
    };
    let unit = if name.ends_with("_ns") { "ns" } else { "" };
    OfRun { point, response: name.to_owned(), unit: unit.to_owned() }
}

/// What was done, and what it used.
fn figures(work: &MemoryWork) -> BTreeMap<String, f64> {
    let used = work.usage.iter().map(|(name, value)| (name.as_str(), *value));
    let own = [("work", work.touches), ("elapsed_ns", work.elapsed_ns)];
    let faults = work.used(&["minor_faults", "major_faults"]).map(|faults| ("faults", faults));
    let all = used.chain(own).chain(faults);
    all.map(|(name, value)| (name.to_owned(), value as f64)).collect()
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
        // Of a simulated machine.
        "hat" | "mmu" => true,
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
    // A session has one figure, so its median is its mean.
    let median = samples.and_then(bounded_median);
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
        counters: sampled(run),
        ..Point::default()
    };
    let names = trial.values.iter().map(|values| values.response.as_str());
    point.problem = match (median, name) {
        (None, Some(name)) => Some(lacks(name, names)),
        (None, None) => Some("nothing was measured".to_owned()),
        (Some(median), _) => median.is_lower_bound.then(|| "its cost is a lower bound".to_owned()),
    };
    let name = name.unwrap_or(USUAL[0]);
    let unit = set.responses.get(name).map(|response| response.unit.clone());
    OfRun { point, response: name.to_owned(), unit: unit.unwrap_or_default() }
}

/// What counters grew by from the first to the last look at them.
fn sampled(run: &Run) -> BTreeMap<String, f64> {
    let mut sets = run.lines.iter().flat_map(Line::readings).map(|(_, set)| set);
    let first = sets.next();
    match (first, sets.last()) {
        (Some(first), Some(last)) => increases(first, last),
        _ => BTreeMap::new(),
    }
}

fn lacks<'a>(name: &str, has: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = has.collect::<BTreeSet<_>>().into_iter().collect();
    format!("no response is named {name:?}; there are {}", names.join(", "))
}

#[cfg(test)]
mod tests;
