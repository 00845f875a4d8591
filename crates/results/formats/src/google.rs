//! The JSON of Google Benchmark (`--benchmark_format=json`).

use std::collections::BTreeMap;

use analysis::Direction;
use analysis::Direction::{LessIsBetter, MoreIsBetter};
use model::Environment;
use model::units::TIME_UNITS;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::dataset::{Imported, Options, Refusal, fact, json, unix_ns};
use crate::measurement::{ForeignMeasurement, ForeignTrial, TrialOutcome};
use crate::results::ForeignResults;

const BENCHMARK: &str = "benchmark";
const NOT_MEASURED: [&str; 7] = [
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "aggregate_unit",
];
/// Counters of the library itself of which less is better, with their units.
const OF_MEMORY: [(&str, &str); 4] = [
    ("allocs_per_iter", ""),
    ("max_bytes_used", "bytes"),
    ("total_allocated_bytes", "bytes"),
    ("net_heap_growth", "bytes"),
];
/// Endings of names of aggregates, in files without `run_type`.
const AGGREGATES: [&str; 6] = ["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"];
/// A printed mean may differ by this part from that of the repetitions, as it is rounded.
const ROUNDING: f64 = 0.1;

#[derive(Deserialize)]
struct Output {
    #[serde(default)]
    context: Map<String, Value>,
    benchmarks: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    run_name: Option<String>,
    run_type: Option<String>,
    aggregate_name: Option<String>,
    real_time: Option<f64>,
    cpu_time: Option<f64>,
    time_unit: Option<String>,
    #[serde(default)]
    error_occurred: bool,
    error_message: Option<String>,
    #[serde(default)]
    skipped: bool,
    skip_message: Option<String>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Every repetition is a trial; times are in ns.
pub(super) fn read(text: &str, options: &Options) -> Imported {
    let output: Output = json(text)?;
    let (environment, started_unix_ns) = environment(&output.context);
    let mut found = ForeignResults::named_by([BENCHMARK]);
    let names: Vec<String> = output.benchmarks.iter().map(|it| it.name.clone()).collect();
    let (single, aggregates): (Vec<Entry>, Vec<Entry>) =
        output.benchmarks.into_iter().partition(|entry| entry.is_single(&names));
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in &single {
        // Versions before 1.5 do not number them.
        let count = counts.entry(entry.name.as_str()).or_insert(0);
        let index = entry.others.get("repetition_index").and_then(Value::as_u64).unwrap_or(*count);
        *count += 1;
        let name = format!("{}, repetition {}", entry.name, index + 1);
        let identity = [(BENCHMARK, entry.work().to_owned())];
        let mut trial = ForeignTrial::of_file(name, identity, figures(entry)?);
        trial.environment = environment.clone();
        trial.started_unix_ns = started_unix_ns;
        trial.outcome = entry.outcome();
        if matches!(trial.outcome, TrialOutcome::Completed) && trial.measurements.is_empty() {
            let why = format!("benchmark {:?}: no time and no counter", entry.name);
            return Err(Refusal::whole(why));
        }
        found.trials.push(trial);
    }
    if found.trials.is_empty() {
        return Err(Refusal::whole(
            "\"benchmarks\" has no single repetition (run_type \"iteration\"): leave out \
             --benchmark_report_aggregates_only",
        ));
    }
    check_means(&single, &aggregates)?;
    found
        .notes
        .push("repetitions within one process: variation between processes is unknown".to_owned());
    if !aggregates.is_empty() {
        found.notes.push(format!(
            "{} aggregates (means, medians, deviations) left out: they follow from the \
             repetitions",
            aggregates.len()
        ));
    }
    found.finish(options)
}

impl Entry {
    /// Whether this is a repetition, and not an aggregate of several.
    fn is_single(&self, names: &[String]) -> bool {
        match self.run_type.as_deref() {
            Some(kind) => kind == "iteration",
            None => {
                let stem = AGGREGATES.iter().find_map(|ending| self.name.strip_suffix(ending));
                stem.is_none_or(|stem| !names.iter().any(|name| name == stem))
            }
        }
    }

    /// The name of the benchmark, without that of an aggregate.
    fn work(&self) -> &str {
        self.run_name.as_deref().unwrap_or(&self.name)
    }

    fn outcome(&self) -> TrialOutcome {
        let message = |text: &Option<String>, other: &str| {
            text.clone().filter(|text| !text.is_empty()).unwrap_or_else(|| other.to_owned())
        };
        if self.error_occurred || self.error_message.is_some() {
            TrialOutcome::Failed(message(&self.error_message, "an error"))
        } else if self.skipped || self.skip_message.is_some() {
            let why = message(&self.skip_message, "without a reason");
            TrialOutcome::Skipped(format!("{} was skipped: {why}", self.work()))
        } else {
            TrialOutcome::Completed
        }
    }

    /// How many ns one unit of its times is.
    fn unit_ns(&self) -> Result<f64, Refusal> {
        let unit = self.time_unit.as_deref().unwrap_or("ns");
        let factor = TIME_UNITS.iter().find(|(known, _)| *known == unit).map(|(_, factor)| *factor);
        factor.ok_or_else(|| {
            let what = format!("time unit {unit:?}; known are ns, us, ms and s");
            Refusal::whole(format!("benchmark {:?}: {what}", self.name))
        })
    }
}

fn figures(entry: &Entry) -> Result<Vec<ForeignMeasurement>, Refusal> {
    let factor = entry.unit_ns()?;
    let times = [("real_ns", entry.real_time), ("cpu_ns", entry.cpu_time)];
    let times = times
        .into_iter()
        .filter_map(|(name, time)| Some((name, "ns", LessIsBetter, time? * factor)));
    let others = entry.others.iter().filter(|(name, _)| !NOT_MEASURED.contains(&name.as_str()));
    let others = others.filter_map(|(name, value)| {
        let (unit, direction) = meaning(name);
        Some((name.as_str(), unit, direction, value.as_f64()?))
    });
    let found: Vec<_> = times.chain(others).collect();
    if let Some((name, .., value)) = found.iter().find(|(.., value)| !value.is_finite()) {
        let why = format!("benchmark {:?}: {name} is {value}", entry.name);
        return Err(Refusal::whole(why));
    }
    let figure = |(name, unit, direction, value): (&str, &str, Direction, f64)| {
        ForeignMeasurement::figure(name, unit, direction, value)
    };
    Ok(found.into_iter().map(figure).collect())
}

/// Unit and direction of a counter. Those that a program names itself have neither.
fn meaning(name: &str) -> (&'static str, Direction) {
    if name == "bytes_per_second" {
        return ("B/s", MoreIsBetter);
    }
    if name.ends_with("_per_second") {
        return ("/s", MoreIsBetter);
    }
    let known = OF_MEMORY.iter().find(|(known, _)| *known == name);
    known.map_or(("", Direction::Unknown), |(_, unit)| (*unit, LessIsBetter))
}

/// Fails when a printed mean does not follow from the repetitions.
fn check_means(single: &[Entry], aggregates: &[Entry]) -> Result<(), Refusal> {
    let mut times: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for entry in single.iter().filter(|it| matches!(it.outcome(), TrialOutcome::Completed)) {
        if let Some(time) = entry.real_time {
            times.entry(entry.work()).or_default().push(time * entry.unit_ns()?);
        }
    }
    for entry in aggregates.iter().filter(|it| it.aggregate_name.as_deref() == Some("mean")) {
        let computed = times.get(entry.work()).and_then(|times| stats::mean(times));
        let (Some(time), Some(computed)) = (entry.real_time, computed) else { continue };
        let printed = time * entry.unit_ns()?;
        if (printed - computed).abs() > ROUNDING * computed.abs().max(printed.abs()) {
            return Err(Refusal::whole(format!(
                "benchmark {:?}: its mean is {printed} ns, but that of the repetitions is \
                 {computed} ns: the file contradicts itself",
                entry.name
            )));
        }
    }
    Ok(())
}

fn environment(context: &Map<String, Value>) -> (Environment, Option<u64>) {
    let date = context.get("date").and_then(Value::as_str);
    let started = date.and_then(|date| date.parse().ok()).and_then(unix_ns);
    let facts = context
        .iter()
        .filter(|(name, _)| started.is_none() || *name != "date")
        .map(|(name, value)| {
            // As in run files.
            let name = match name.as_str() {
                "num_cpus" => "cpus_online",
                "host_name" => "hostname",
                other => other,
            };
            (name.to_owned(), fact(value))
        })
        .collect();
    (facts, started)
}
