//! The JSON of schbench (`--json FILE`): percentiles of three distributions (`docs/exchange.md`).

use std::collections::BTreeMap;

use analysis::Direction;
use model::Environment;
use serde::Deserialize;
use serde_json::Value;

use crate::dataset::{Imported, Options, Refusal, fact, json, measure};
use crate::measurement::{ForeignMeasurement, ForeignTrial, WHOLE_FILE};
use crate::results::ForeignResults;

/// Measures by key prefix: suffix of our names, unit, and whether more is better.
const MEASURES: [(&str, &str, &str, bool); 3] = [
    ("wakeup_latency", "us", "us", false),
    ("request_latency", "us", "us", false),
    ("rps", "per_s", "/s", true),
];

/// The width of a bucket of percentiles, as a part of its value.
const BUCKET: f64 = 0.05;

#[derive(Default, Deserialize)]
struct Output {
    #[serde(rename = "normal")]
    system: BTreeMap<String, Value>,
    #[serde(rename = "int")]
    figures: BTreeMap<String, f64>,
}

const NOTES: [&str; 2] = [
    "schbench writes percentiles, each of them one figure a file: tests need several files a \
     side (a folder of them), and without the single delays there is no share of stalls",
    "schbench drops wake-ups of less than 1 µs, and a request's time begins when it is picked \
     up: waiting in its queue is not in it",
];

/// The file is one trial with a figure per percentile.
pub(super) fn read(text: &str, options: &Options) -> Imported {
    observations(json(text)?, options)
}

/// Headings of the percentiles that schbench prints, and the beginnings of their keys in JSON.
const HEADINGS: [(&str, &str); 4] = [
    ("Wakeup Latencies percentiles", "wakeup_latency"),
    ("Request Latencies percentiles", "request_latency"),
    ("RPS percentiles", "rps"),
    ("Latency percentiles", "wakeup_latency"),
];

/// Whether a line is a heading of what schbench prints.
pub(super) fn is_heading(line: &str) -> bool {
    HEADINGS.iter().any(|(heading, _)| line.starts_with(heading))
}

/// Reads what schbench prints: the last percentiles of each kind are of the whole execution.
pub(super) fn read_text(text: &str, options: &Options) -> Imported {
    let mut output = Output::default();
    let mut kind = None;
    for line in text.lines() {
        if let Some((_, key)) = HEADINGS.iter().find(|(heading, _)| line.starts_with(heading)) {
            output.figures.retain(|known, _| !known.starts_with(key));
            kind = Some(*key);
            continue;
        }
        let Some(key) = kind else { continue };
        let line = line.trim_start_matches([' ', '\t', '*']);
        if let Some((percent, rest)) = line.split_once("th:") {
            let value = rest.split_whitespace().next().and_then(|value| value.parse().ok());
            let percent = percent.parse::<f64>().ok();
            if let (Some(percent), Some(value)) = (percent, value) {
                output.figures.insert(format!("{key}_pct{percent:?}"), value);
            }
        } else if let Some((least, most)) =
            line.strip_prefix("min=").and_then(|it| it.split_once(", max="))
        {
            for (name, text) in [("min", least), ("max", most)] {
                let value = text.trim().parse().ok();
                output.figures.extend(value.map(|value| (format!("{key}_{name}"), value)));
            }
        } else {
            kind = None;
        }
    }
    observations(output, options)
}

fn observations(output: Output, options: &Options) -> Imported {
    let (mut figures, mut environment, mut started_unix_ns) =
        (Vec::new(), Environment::new(), None);
    for (key, value) in &output.figures {
        let refused = |what: &str| Refusal::whole(format!("\"int\", {key:?}: {what}"));
        if !value.is_finite() || *value < 0.0 {
            return Err(refused("a figure is finite and not negative"));
        }
        match key.as_str() {
            "time" if value.fract() == 0.0 && *value < 1e10 => {
                started_unix_ns = Some(*value as u64 * 1_000_000_000);
            }
            "time" => {}
            "runtime" => {
                environment.insert("schbench_runtime_s".to_owned(), value.to_string());
            }
            _ => {
                figures.push(
                    figure(key, *value)
                        .ok_or_else(|| refused("neither a percentile nor a minimum or maximum"))?,
                );
            }
        }
    }
    if figures.is_empty() {
        return Err(Refusal::whole("it has no percentile"));
    }
    check_order(&output.figures)?;
    let mut trial = ForeignTrial::of_file(WHOLE_FILE, [], figures);
    trial.environment = environment;
    trial.environment.extend(facts(&output.system));
    trial.started_unix_ns = started_unix_ns;
    trial.meaning = measure("schbench");
    let notes = NOTES.map(str::to_owned).into();
    ForeignResults { trials: vec![trial], notes, ..ForeignResults::default() }.finish(options)
}

/// Fails where a percentile is above a higher one, or outside minimum and maximum. Percentiles are
/// bounds of buckets, so they may exceed the maximum a little.
fn check_order(figures: &BTreeMap<String, f64>) -> Result<(), Refusal> {
    for (name, ..) in MEASURES {
        let place = |key: &str| match key.strip_prefix(name)?.strip_prefix('_')? {
            "min" => Some(f64::NEG_INFINITY),
            "max" => Some(f64::INFINITY),
            other => other.strip_prefix("pct")?.parse::<f64>().ok(),
        };
        let found = figures.iter().filter_map(|(key, value)| Some((place(key)?, key, *value)));
        let mut found: Vec<(f64, &String, f64)> = found.collect();
        found.sort_by(|one, other| one.0.total_cmp(&other.0));
        let wrong = found.windows(2).find(|pair| pair[0].2 > (1.0 + BUCKET) * pair[1].2);
        if let Some([(_, low, low_value), (_, high, high_value)]) = wrong {
            return Err(Refusal::whole(format!(
                "\"int\": {low:?} is {low_value}, above {high:?}, which is {high_value}: the file \
                 contradicts itself"
            )));
        }
    }
    Ok(())
}

/// A figure under our name: `wakeup_latency_pct99.0` is `wakeup_latency_p99_us`.
fn figure(key: &str, value: f64) -> Option<ForeignMeasurement> {
    let measure = MEASURES
        .iter()
        .find_map(|measure| Some((measure, key.strip_prefix(measure.0)?.strip_prefix('_')?)));
    let ((name, ending, unit, more_is_better), which) = measure?;
    let which = match which {
        "min" => "low".to_owned(),
        "max" => "high".to_owned(),
        _ => {
            let percent: f64 = which.strip_prefix("pct")?.parse().ok()?;
            if !(0.0..=100.0).contains(&percent) {
                return None;
            }
            format!("p{percent}")
        }
    };
    let response = format!("{name}_{which}_{ending}");
    Some(ForeignMeasurement::figure(response, unit, Direction::from_more(*more_is_better), value))
}

/// Names as in run files.
fn facts(system: &BTreeMap<String, Value>) -> Environment {
    let named = |(key, value): (&String, &Value)| match key.as_str() {
        "version" => ("kernel".to_owned(), fact(value)),
        "cmdline" => ("schbench_options".to_owned(), options(&fact(value))),
        other => (other.to_owned(), fact(value)),
    };
    system.iter().map(named).collect()
}

/// A command line without program and output file.
fn options(command: &str) -> String {
    let mut kept = Vec::new();
    let mut words = command.split_whitespace().skip(1);
    while let Some(word) = words.next() {
        match word {
            "-j" | "--json" => {
                words.next();
            }
            _ if word.starts_with("--json=") || word.starts_with("-j") => {}
            _ => kept.push(word),
        }
    }
    kept.join(" ")
}
