//! The times of commands as `hyperfine --export-json` writes them (versions 1.18 to 1.20).

use std::collections::BTreeMap;

use analysis::{CommandTime, CommandTimes, Repetition};
use model::{BASELINE, WorkEnd};
use serde::Serialize;
use stats::{mean, median, standard_deviation};

/// Runs with the same levels of an experiment (none: those of a single invocation), by factor.
pub type Group = (BTreeMap<String, String>, CommandTimes);

/// The factor whose level is the command itself.
const COMMAND: &str = "command.run";
/// The parameter that names the load.
const LOAD: &str = "load";

#[derive(Serialize)]
struct Export {
    results: Vec<Entry>,
}

/// One command; times in seconds. The order is hyperfine's.
#[derive(Serialize)]
struct Entry {
    command: String,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: Option<f64>,
    system: Option<f64>,
    min: f64,
    max: f64,
    times: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_usage_byte: Option<Vec<u64>>,
    exit_codes: Vec<Option<i32>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<String, String>,
}

/// A result for each command, load and combination of levels, as JSON; `None` if no repetition of
/// any command ended. As in hyperfine, statistics are over all repetitions that it lists.
pub fn text(groups: &[Group]) -> Option<String> {
    let rows = || groups.iter().flat_map(|(_, times)| &times.rows);
    let has_loads = rows().any(|row| row.load != BASELINE);
    let of_group = |(levels, times): &Group| -> Vec<Entry> {
        let mut levels = levels.clone();
        levels.remove(COMMAND);
        times.rows.iter().filter_map(|row| entry(row, &levels, has_loads)).collect()
    };
    let results: Vec<Entry> = groups.iter().flat_map(of_group).collect();
    let text = (!results.is_empty()).then(|| serde_json::to_string_pretty(&Export { results }))?;
    text.ok().map(|text| text + "\n")
}

fn entry(row: &CommandTime, levels: &BTreeMap<String, String>, has_loads: bool) -> Option<Entry> {
    let all = &row.repetitions;
    let seconds = |ns: f64| ns / 1e9;
    let times: Vec<f64> = all.iter().map(|it| seconds(it.elapsed_ns.value)).collect();
    let (mean_s, median_s) = (mean(&times)?, median(&times)?);
    let mean_of = |figure: fn(&Repetition) -> Option<u64>| {
        let values: Option<Vec<f64>> =
            all.iter().map(|it| figure(it).map(|ns| seconds(ns as f64))).collect();
        mean(&values?)
    };
    let mut parameters = levels.clone();
    if has_loads {
        parameters.insert(LOAD.to_owned(), row.load.clone());
    }
    Some(Entry {
        command: match row.load == BASELINE {
            true => row.command.clone(),
            false => format!("{} under {}", row.command, row.load),
        },
        mean: mean_s,
        stddev: standard_deviation(&times),
        median: median_s,
        user: mean_of(|it| it.user_ns),
        system: mean_of(|it| it.system_ns),
        min: times.iter().copied().fold(f64::INFINITY, f64::min),
        max: times.iter().copied().fold(0.0, f64::max),
        memory_usage_byte: all.iter().map(|it| it.peak_bytes).collect(),
        exit_codes: all.iter().map(exit_code).collect(),
        times,
        parameters,
    })
}

/// `None` after a signal, at the limit of time, and for a failure that the code does not show, as
/// hyperfine writes it for what has no exit code.
fn exit_code(repetition: &Repetition) -> Option<i32> {
    match repetition.end {
        WorkEnd::Exited { code } | WorkEnd::KilledForMemory { code: Some(code), .. } => {
            (code != 0 || !repetition.is_failed).then_some(code)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use model::Run;
    use serde_json::{Value, json};

    use super::*;

    /// A run under a load whose repetitions took so many seconds, with how they failed.
    fn run(load: &str, repetitions: &[(u64, Option<&str>)]) -> Run {
        let header = json!({
            "kind": "header", "schema": 1, "run_id": load, "thrashlab": "0", "started_unix_ns": 0,
            "spec": {
                "subject": { "kind": "host", "memory_bytes": 1 },
                "load": { "name": load, "version": 1, "intensity": 1.0 },
                "job": { "name": "command", "version": 1 },
                "timing": {
                    "profile": "default", "interval_ns": 1, "points": 1, "warmup_ns": 1,
                    "timeout_ns": 1,
                },
                "seed": 1, "block": 0, "order": 0,
            },
            "environment": {}, "missed": [],
        });
        let works = (0..).zip(repetitions).map(|(pass, (seconds, failure))| {
            let started_ns = pass * 10_000_000_000;
            let mut work = json!({
                "kind": "work", "at_ns": 0, "worker": 0, "pass": pass, "item": "./a",
                "started_ns": started_ns, "completed_ns": started_ns + seconds * 1_000_000_000,
                "usage": {
                    "user_ns": 2_000_000_000, "system_ns": 500_000_000, "peak_bytes": 4096 + pass,
                },
            });
            if let Some(failure) = failure {
                work["failure"] = (*failure).into();
            }
            work
        });
        let lines: Vec<String> =
            [header].into_iter().chain(works).map(|it| it.to_string()).collect();
        Run::parse((lines.join("\n") + "\n").as_bytes()).unwrap()
    }

    fn group(levels: &[(&str, &str)], runs: &[Run]) -> Group {
        let levels = levels.iter().map(|(name, level)| ((*name).into(), (*level).into())).collect();
        (levels, CommandTimes::from_runs(runs, BTreeMap::new()))
    }

    #[test]
    fn an_export_has_the_fields_of_hyperfine_in_its_order() {
        let failures = [Some("exit code 7: why: so"), Some("ended by signal 9")];
        let own = run("noload", &[(1, None), (3, failures[0]), (2, failures[1])]);
        let text = text(&[group(&[], &[own])]).unwrap();
        let fields: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("      \"")?.split('"').next())
            .collect();
        let known =
            ["command", "mean", "stddev", "median", "user", "system", "min", "max", "times"];
        assert_eq!(fields, [&known[..], &["memory_usage_byte", "exit_codes"]].concat());
        let read: Value = serde_json::from_str(&text).unwrap();
        let expected = json!({ "results": [{
            "command": "./a", "mean": 2.0, "stddev": 1.0, "median": 2.0, "user": 2.0,
            "system": 0.5, "min": 1.0, "max": 3.0, "times": [1.0, 3.0, 2.0],
            "memory_usage_byte": [4096, 4097, 4098], "exit_codes": [0, 7, null],
        }] });
        assert_eq!(read, expected);
    }

    #[test]
    fn loads_and_levels_are_parameters_and_one_value_has_no_deviation() {
        let runs = [run("noload", &[(1, None)]), run("cpuload", &[(2, None)])];
        let levels = [("command.run", "./a"), ("vm.swappiness", "60")];
        let read: Value = serde_json::from_str(&text(&[group(&levels, &runs)]).unwrap()).unwrap();
        assert!(read["results"][0]["stddev"].is_null(), "{read}");
        assert_eq!(read["results"][1]["command"], "./a under cpuload");
        let parameters = json!({ "load": "cpuload", "vm.swappiness": "60" });
        assert_eq!(read["results"][1]["parameters"], parameters);
        assert_eq!(text(&[group(&[], &[])]), None);
    }
}
