//! The JSON that `hyperfine --export-json` writes.
//!
//! Every time is a trial, since every run is a process of its own. Of user and system time
//! hyperfine keeps the means alone; they stand in a trial by themselves.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{Dataset, Factor, Response, Trial};
use serde::Deserialize;

use super::{Refusal, figure};

/// The factor that all results have.
const COMMAND: &str = "command";

#[derive(Deserialize)]
struct Export {
    results: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    command: String,
    mean: Option<f64>,
    user: Option<f64>,
    system: Option<f64>,
    times: Option<Vec<f64>>,
    #[serde(default)]
    exit_codes: Vec<Option<i64>>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
}

/// Reads an export of hyperfine as observations; `name` is where it comes from.
///
/// # Errors
/// When it is not JSON of that form, holds no result, or a time below 0.
pub fn dataset(name: &str, text: &str) -> Result<Dataset, Refusal> {
    let text = text.trim_start_matches('\u{feff}');
    let export: Export = serde_json::from_str(text).map_err(|error| Refusal::json(&error))?;
    if export.results.is_empty() {
        return Err(Refusal::whole("\"results\" is empty"));
    }
    let factors = factors(&export.results);
    let mut set = Dataset {
        name: name.to_owned(),
        factors,
        responses: ["elapsed_s", "user_s", "system_s"]
            .map(|name| (name.to_owned(), time(name != "elapsed_s")))
            .into(),
        notes: vec![
            "hyperfine makes all runs of one command before the next: a drift of the machine \
             would look like a difference"
                .to_owned(),
            "of user and system time hyperfine keeps means only".to_owned(),
        ],
        ..Dataset::default()
    };
    for (index, entry) in export.results.iter().enumerate() {
        let levels = set
            .factors
            .iter()
            .map(|factor| (factor.name.clone(), entry.level(&factor.name)))
            .collect();
        push(&mut set, index, entry, &levels)?;
    }
    Ok(set)
}

fn time(additive: bool) -> Response {
    Response { unit: "s".to_owned(), more_is_better: false, additive }
}

impl Entry {
    fn level(&self, factor: &str) -> String {
        if factor == COMMAND {
            return self.command.clone();
        }
        self.parameters.get(factor).cloned().unwrap_or_default()
    }
}

/// The parameters, if they tell all results apart; the commands otherwise.
fn factors(results: &[Entry]) -> Vec<Factor> {
    let names = &results[0].parameters;
    let told: BTreeSet<&BTreeMap<String, String>> =
        results.iter().map(|entry| &entry.parameters).collect();
    let enough = told.len() == results.len()
        && results.iter().all(|entry| entry.parameters.keys().eq(names.keys()));
    let names: Vec<&str> = match !names.is_empty() && enough {
        true => names.keys().map(String::as_str).collect(),
        false => vec![COMMAND],
    };
    let levels = |name: &str| {
        let mut levels: Vec<String> = Vec::new();
        for level in results.iter().map(|entry| entry.level(name)) {
            if !levels.contains(&level) {
                levels.push(level);
            }
        }
        levels
    };
    names.iter().map(|name| Factor { name: (*name).to_owned(), levels: levels(name) }).collect()
}

fn push(
    set: &mut Dataset,
    index: usize,
    entry: &Entry,
    levels: &BTreeMap<String, String>,
) -> Result<(), Refusal> {
    let refused =
        |what: String| Refusal::whole(format!("result {}, {:?}: {what}", index + 1, entry.command));
    let checked = |what: &str, value: f64| match value.is_finite() && value >= 0.0 {
        true => Ok(value),
        false => Err(refused(format!("{what} is {value}; a time is finite and not negative"))),
    };
    let mut times = entry.times.clone().unwrap_or_default();
    if times.is_empty() {
        let mean = entry.mean.ok_or_else(|| refused("neither times nor a mean".to_owned()))?;
        set.notes.push(format!("{:?}: no single times, its mean stands for one", entry.command));
        times = vec![mean];
    }
    for (run, time) in times.iter().enumerate() {
        let code = entry.exit_codes.get(run).copied().flatten();
        set.trials.push(Trial {
            name: format!("result {}, run {}", index + 1, run + 1),
            levels: levels.clone(),
            values: vec![figure(None, "elapsed_s", checked("a time", *time)?)],
            problem: code.filter(|code| *code != 0).map(|code| format!("exit code {code}")),
            ..Trial::default()
        });
    }
    let mut means = Vec::new();
    for (response, value) in [("user_s", entry.user), ("system_s", entry.system)] {
        if let Some(value) = value {
            means.push(figure(None, response, checked(response, value)?));
        }
    }
    if !means.is_empty() {
        set.trials.push(Trial {
            name: format!("result {}, means", index + 1),
            levels: levels.clone(),
            values: means,
            ..Trial::default()
        });
    }
    Ok(())
}
