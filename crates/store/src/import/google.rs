//! The JSON of Google Benchmark (`--benchmark_format=json`).

use analysis::{Dataset, Trial, Values};
use model::Environment;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Format, Options, Refusal, add, fact, figure, json, response, varied};

/// What this file reads.
pub(super) const FORMAT: Format =
    Format { name: "google", looks_right: |it| it.key("benchmarks").is_some(), read };

/// The factor: which benchmark.
const BENCHMARK: &str = "benchmark";
/// Fields of a result that count or name something else than what was measured.
const NOT_MEASURED: [&str; 7] = [
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "aggregate_unit",
];

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
    real_time: Option<f64>,
    cpu_time: Option<f64>,
    time_unit: Option<String>,
    #[serde(default)]
    error_occurred: bool,
    error_message: Option<String>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Every repetition is a trial; times are in ns whatever their unit was.
fn read(text: &str, _: &Options) -> Result<Dataset, Refusal> {
    let output: Output = json(text)?;
    let (environment, started_unix_ns) = environment(&output.context);
    let mut set = varied([BENCHMARK]);
    let mut aggregates = 0_usize;
    for entry in &output.benchmarks {
        if entry.run_type.as_deref().is_some_and(|kind| kind != "iteration") {
            aggregates += 1;
            continue;
        }
        let level = entry.run_name.clone().unwrap_or_else(|| entry.name.clone());
        let values = values(entry, &mut set)?;
        let failed = entry.error_occurred || entry.error_message.is_some();
        let message = || entry.error_message.clone().unwrap_or_else(|| "an error".to_owned());
        let trial = Trial {
            name: format!("{}, repetition {}", entry.name, repetition(entry)),
            levels: [(BENCHMARK.to_owned(), level)].into(),
            values: if failed { Vec::new() } else { values },
            environment: environment.clone(),
            started_unix_ns,
            problem: failed.then(message),
            ..Trial::default()
        };
        add(&mut set, trial);
    }
    if set.trials.is_empty() {
        return Err(Refusal::whole(
            "\"benchmarks\" has no single repetition (run_type \"iteration\"): leave out \
             --benchmark_report_aggregates_only",
        ));
    }
    set.notes.push(
        "repetitions within one process: how processes differ from each other was not seen"
            .to_owned(),
    );
    if aggregates > 0 {
        set.notes.push(format!(
            "{aggregates} aggregates (means, medians, deviations) left out: they follow from the \
             repetitions"
        ));
    }
    Ok(set)
}

fn repetition(entry: &Entry) -> u64 {
    entry.others.get("repetition_index").and_then(Value::as_u64).unwrap_or(0) + 1
}

/// What one repetition measured; adds the responses that are new.
fn values(entry: &Entry, set: &mut Dataset) -> Result<Vec<Values>, Refusal> {
    let refused = |what: String| Refusal::whole(format!("benchmark {:?}: {what}", entry.name));
    let unit = entry.time_unit.as_deref().unwrap_or("ns");
    let factor = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        other => return Err(refused(format!("time unit {other:?}; known are ns, us, ms and s"))),
    };
    let mut found: Vec<(String, f64, &str, bool)> = Vec::new();
    for (name, time) in [("real_ns", entry.real_time), ("cpu_ns", entry.cpu_time)] {
        found.extend(time.map(|time| (name.to_owned(), time * factor, "ns", false)));
    }
    let others = entry.others.iter().filter(|(name, _)| !NOT_MEASURED.contains(&name.as_str()));
    for (name, value) in others {
        let Some(value) = value.as_f64() else { continue };
        let rate = name.ends_with("_per_second");
        found.push((name.clone(), value, if rate { "/s" } else { "" }, rate));
    }
    if !entry.error_occurred && found.is_empty() {
        return Err(refused("no time and no counter".to_owned()));
    }
    let mut values = Vec::new();
    for (name, value, unit, more_is_better) in found {
        if !value.is_finite() {
            return Err(refused(format!("{name} is {value}")));
        }
        values.push(figure(set, None, &name, response(unit, more_is_better), value));
    }
    Ok(values)
}

/// The context as facts of the system, and when it was made.
fn environment(context: &Map<String, Value>) -> (Environment, Option<u64>) {
    let date = context.get("date").and_then(Value::as_str);
    let started = date
        .and_then(|date| date.parse::<jiff::Timestamp>().ok())
        .and_then(|moment| u64::try_from(moment.as_nanosecond()).ok());
    let facts = context
        .iter()
        .filter(|(name, _)| started.is_none() || *name != "date")
        .map(|(name, value)| {
            // Where a run file has a word for it, that is used.
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
