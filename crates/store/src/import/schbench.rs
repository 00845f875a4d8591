//! The JSON that schbench writes (`--json FILE`).
//!
//! It has percentiles of three distributions, and nothing of what they are percentiles of: each is
//! one figure a file. One file against another has ratios and no tests; a folder of files has a
//! trial a file, which is what tests need.

use std::collections::BTreeMap;

use analysis::{Dataset, Response, Trial};
use model::Environment;
use serde::Deserialize;
use serde_json::Value;

use super::folder::WHOLE_FILE;
use super::{Refusal, figure};

/// What is measured, by the beginnings of its keys: unit at the end of our names, and whether more
/// is better.
const MEASURES: [(&str, &str, &str, bool); 3] = [
    ("wakeup_latency", "us", "us", false),
    ("request_latency", "us", "us", false),
    ("rps", "per_s", "/s", true),
];

#[derive(Deserialize)]
struct Output {
    #[serde(rename = "normal")]
    system: BTreeMap<String, Value>,
    #[serde(rename = "int")]
    figures: BTreeMap<String, f64>,
}

/// Whether JSON is of this form.
pub(super) fn is_output(value: &Value) -> bool {
    value.get("int").is_some_and(Value::is_object) && value.get("normal").is_some()
}

/// Reads an output of schbench as observations; `name` is where it comes from. The file is one
/// trial, with a figure for each percentile, the least and the most.
///
/// # Errors
/// When it is not JSON of that form, or has a figure that no schbench writes.
pub fn dataset(name: &str, text: &str) -> Result<Dataset, Refusal> {
    let text = text.trim_start_matches('\u{feff}');
    let output: Output = serde_json::from_str(text).map_err(|error| Refusal::json(&error))?;
    let mut set = Dataset {
        name: name.to_owned(),
        notes: vec![
            "schbench writes percentiles, each of them one figure a file: tests need several files \
             a side (a folder of them), and without the single delays there is no share of stalls"
                .to_owned(),
            "schbench drops wake-ups of less than 1 µs, and a request's time begins when it is \
             picked up: waiting in its queue is not in it"
                .to_owned(),
        ],
        ..Dataset::default()
    };
    let mut trial = Trial { name: WHOLE_FILE.to_owned(), ..Trial::default() };
    for (key, value) in &output.figures {
        let refused = |what: &str| Refusal::whole(format!("\"int\", {key:?}: {what}"));
        if !value.is_finite() || *value < 0.0 {
            return Err(refused("a figure is finite and not negative"));
        }
        match key.as_str() {
            "time" => trial.started_unix_ns = seconds(*value),
            "runtime" => {
                trial.environment.insert("schbench_runtime_s".to_owned(), value.to_string());
            }
            _ => {
                let (response, meaning) = response(key)
                    .ok_or_else(|| refused("neither a percentile nor a least or a most of it"))?;
                trial.values.push(figure(None, &response, *value));
                set.responses.insert(response, meaning);
            }
        }
    }
    if trial.values.is_empty() {
        return Err(Refusal::whole("\"int\" has no percentile"));
    }
    trial.environment.extend(facts(&output.system));
    trial.meaning.insert("measure".to_owned(), "schbench".to_owned());
    set.trials.push(trial);
    Ok(set)
}

/// Whole seconds since 1970 in ns.
fn seconds(value: f64) -> Option<u64> {
    (value.fract() == 0.0 && value < 1e10).then(|| value as u64 * 1_000_000_000)
}

/// Our name of a figure: `wakeup_latency_pct99.0` is `wakeup_latency_p99_us`.
fn response(key: &str) -> Option<(String, Response)> {
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
    let meaning =
        Response { unit: (*unit).to_owned(), more_is_better: *more_is_better, additive: false };
    Some((format!("{name}_{which}_{ending}"), meaning))
}

/// Facts of the system, in the words that run files have for them.
fn facts(system: &BTreeMap<String, Value>) -> Environment {
    let mut facts = Environment::new();
    for (key, value) in system {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let (fact, text) = match key.as_str() {
            "version" => ("kernel", text),
            "cmdline" => ("schbench_options", options(&text)),
            other => (other, text),
        };
        facts.insert(fact.to_owned(), text);
    }
    facts
}

/// A command line without its program and without the file that it writes.
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
