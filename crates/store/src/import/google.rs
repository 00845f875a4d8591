//! The JSON of Google Benchmark (`--benchmark_format=json`).

use model::Environment;
use model::units::TIME_UNITS;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Figure, Imported, Options, Refusal, add, fact, json, response, unix_ns, varied};

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

/// Every repetition is a trial; times are in ns.
pub(super) fn read(text: &str, _: &Options) -> Imported {
    let output: Output = json(text)?;
    let (environment, started_unix_ns) = environment(&output.context);
    let mut set = varied([BENCHMARK]);
    let is_single = |it: &Entry| it.run_type.as_deref().is_none_or(|kind| kind == "iteration");
    let (single, aggregates): (Vec<Entry>, Vec<Entry>) =
        output.benchmarks.into_iter().partition(is_single);
    for entry in single {
        let figures = figures(&entry)?;
        let failed = entry.error_occurred || entry.error_message.is_some();
        let index = entry.others.get("repetition_index").and_then(Value::as_u64).unwrap_or(0);
        let name = format!("{}, repetition {}", entry.name, index + 1);
        let level = entry.run_name.unwrap_or(entry.name);
        let trial = add(&mut set, name, [(BENCHMARK, level)], figures);
        // Values before a failure do not count.
        if failed {
            trial.values.clear();
        }
        trial.environment = environment.clone();
        trial.started_unix_ns = started_unix_ns;
        let message = || entry.error_message.unwrap_or_else(|| "an error".to_owned());
        trial.problem = failed.then(message);
    }
    if set.trials.is_empty() {
        return Err(Refusal::whole(
            "\"benchmarks\" has no single repetition (run_type \"iteration\"): leave out \
             --benchmark_report_aggregates_only",
        ));
    }
    set.notes
        .push("repetitions within one process: variation between processes is unknown".to_owned());
    if !aggregates.is_empty() {
        set.notes.push(format!(
            "{} aggregates (means, medians, deviations) left out: they follow from the \
             repetitions",
            aggregates.len()
        ));
    }
    Ok(set)
}

fn figures(entry: &Entry) -> Result<Vec<Figure>, Refusal> {
    let refused = |what: String| Refusal::whole(format!("benchmark {:?}: {what}", entry.name));
    let unit = entry.time_unit.as_deref().unwrap_or("ns");
    let factor = TIME_UNITS.iter().find(|(known, _)| *known == unit).map(|(_, factor)| factor);
    let factor =
        factor.ok_or_else(|| refused(format!("time unit {unit:?}; known are ns, us, ms and s")))?;
    let times = [("real_ns", entry.real_time), ("cpu_ns", entry.cpu_time)];
    let times = times
        .into_iter()
        .filter_map(|(name, time)| Some((name.to_owned(), response("ns", false), time? * factor)));
    let others = entry.others.iter().filter(|(name, _)| !NOT_MEASURED.contains(&name.as_str()));
    let others = others.filter_map(|(name, value)| {
        let rate = name.ends_with("_per_second");
        Some((name.clone(), response(if rate { "/s" } else { "" }, rate), value.as_f64()?))
    });
    let found: Vec<Figure> = times.chain(others).collect();
    if !entry.error_occurred && found.is_empty() {
        return Err(refused("no time and no counter".to_owned()));
    }
    match found.iter().find(|(.., value)| !value.is_finite()) {
        Some((name, _, value)) => Err(refused(format!("{name} is {value}"))),
        None => Ok(found),
    }
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
