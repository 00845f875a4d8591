//! The JSON of `hyperfine --export-json`. Every run is a trial. hyperfine keeps only means of user
//! and system time, which form a separate trial.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{Dataset, Response};
use serde::Deserialize;

use super::{Figure, Imported, Options, Refusal, add, json, varied};

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

pub(super) fn read(text: &str, _: &Options) -> Imported {
    let export: Export = json(text)?;
    if export.results.is_empty() {
        return Err(Refusal::whole("\"results\" is empty"));
    }
    let mut set = varied(factors(&export.results));
    for name in ["elapsed_s", "user_s", "system_s"] {
        let (name, meaning, _) = time(name, 0.0);
        set.responses.insert(name, meaning);
    }
    set.notes = vec![
        "hyperfine executes all runs of one command before the next: a drift of the machine would \
         look like a difference"
            .to_owned(),
        "of user and system time hyperfine keeps means only".to_owned(),
    ];
    for (index, entry) in export.results.iter().enumerate() {
        push(&mut set, index, entry)?;
    }
    Ok(set)
}

fn time(name: &str, value_s: f64) -> Figure {
    let meaning =
        Response { unit: "s".to_owned(), more_is_better: false, additive: name != "elapsed_s" };
    (name.to_owned(), meaning, value_s)
}

/// The parameters if they distinguish all results, else the commands.
fn factors(results: &[Entry]) -> Vec<&str> {
    let names = &results[0].parameters;
    let told: BTreeSet<&BTreeMap<String, String>> =
        results.iter().map(|entry| &entry.parameters).collect();
    let enough = told.len() == results.len()
        && results.iter().all(|entry| entry.parameters.keys().eq(names.keys()));
    match !names.is_empty() && enough {
        true => names.keys().map(String::as_str).collect(),
        false => vec![COMMAND],
    }
}

fn push(set: &mut Dataset, index: usize, entry: &Entry) -> Result<(), Refusal> {
    let number = index + 1;
    let refused =
        |what: String| Refusal::whole(format!("result {number}, {:?}: {what}", entry.command));
    let checked = |what: &str, value: f64| match value.is_finite() && value >= 0.0 {
        true => Ok(value),
        false => Err(refused(format!("{what} is {value}; a time is finite and not negative"))),
    };
    let mut times = entry.times.clone().unwrap_or_default();
    if times.is_empty() {
        let mean = entry.mean.ok_or_else(|| refused("neither times nor a mean".to_owned()))?;
        set.notes.push(format!("{:?}: no single times, its mean is used as one", entry.command));
        times = vec![mean];
    }
    let names: Vec<String> = set.factors.iter().map(|factor| factor.name.clone()).collect();
    let levels = names.iter().map(|factor| {
        let command = (factor == COMMAND).then_some(&entry.command);
        let level = command.or_else(|| entry.parameters.get(factor));
        (factor.as_str(), level.cloned().unwrap_or_default())
    });
    for (run, seconds) in times.iter().enumerate() {
        let code = entry.exit_codes.get(run).copied().flatten();
        let figure = time("elapsed_s", checked("a time", *seconds)?);
        let name = format!("result {number}, run {}", run + 1);
        add(set, name, levels.clone(), [figure]).problem =
            code.filter(|code| *code != 0).map(|code| format!("exit code {code}"));
    }
    let means = [("user_s", entry.user), ("system_s", entry.system)].into_iter();
    let means = means.filter_map(|(response, mean)| Some((response, mean?)));
    let means = means.map(|(response, mean)| Ok(time(response, checked(response, mean)?)));
    let means = means.collect::<Result<Vec<Figure>, Refusal>>()?;
    if !means.is_empty() {
        add(set, format!("result {number}, means"), levels, means);
    }
    Ok(())
}
