//! What is imported, exported and imported again keeps its identity, units, directions, outcomes and
//! sessions, in every pair of formats that can hold them.

use std::collections::BTreeMap;

use analysis::{
    CommandTimes, Dataset, Direction, Ending, Factor, Response, Standing, Trial, Values,
};
use formats::CsvFile;
use formats::{Options, dataset};
use formats::{go, hyperfine};
use model::{Observation, Run, WorkEnd};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

/// How a format writes observations.
type Write = fn(&Dataset) -> String;

/// How a generated trial ended.
#[derive(Clone, Debug)]
enum End {
    Completed,
    Failed,
    Skipped,
    LostFirst,
}

/// A generated trial: benchmark, package, CPUs, session, ending, and a value of each response.
type Generated = (usize, usize, usize, usize, End, [f64; 3]);

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        6 => Just(End::Completed),
        1 => Just(End::Failed),
        1 => Just(End::Skipped),
        1 => Just(End::LostFirst),
    ]
}

fn generated() -> impl Strategy<Value = Vec<Generated>> {
    let value = (1_u32..10_000_000).prop_map(|it| f64::from(it) / 8.0);
    let values = [value.clone(), value.clone(), value];
    vec((0..3_usize, 0..2_usize, 1..3_usize, 0..3_usize, end(), values), 1..12)
}

const BENCHMARKS: [&str; 3] = ["Sort/size=1k", "Pack", "Scan-3/deep"];
const PACKAGES: [&str; 2] = ["one", "two/x"];
/// Responses as Go names them, so that every format can hold them.
const RESPONSES: [(&str, Direction); 3] = [
    ("ns/op", Direction::LessIsBetter),
    ("MB/s", Direction::MoreIsBetter),
    ("depth", Direction::Unknown),
];

/// The observations of generated trials, without names of files.
fn observations(trials: &[Generated]) -> Dataset {
    let response = |(name, direction): (&str, Direction)| {
        let response = Response { unit: name.to_owned(), direction, additive: false };
        (name.to_owned(), response)
    };
    let factor = |name: &str| Factor { name: name.to_owned(), levels: Vec::new() };
    let mut set = Dataset {
        factors: ["benchmark", "pkg", "procs"].map(factor).into(),
        responses: RESPONSES.map(response).into(),
        ..Dataset::default()
    };
    for (index, (benchmark, package, procs, session, end, values)) in trials.iter().enumerate() {
        let levels = [
            ("benchmark", BENCHMARKS[*benchmark].to_owned()),
            ("pkg", PACKAGES[*package].to_owned()),
            ("procs", (2 * procs).to_string()),
        ];
        let levels: BTreeMap<String, String> =
            levels.into_iter().map(|(name, level)| (name.to_owned(), level)).collect();
        let mut trial = Trial {
            name: format!("trial {index}"),
            environment: [("pkg".to_owned(), levels["pkg"].clone())].into(),
            levels,
            session: Some(format!("session {session}")),
            ..Trial::default()
        };
        match end {
            End::Failed => trial.ending = Some(Ending::failed("exit code 3")),
            End::Skipped => trial.skipped = Some("no huge pages".to_owned()),
            End::Completed | End::LostFirst => {
                let lost = usize::from(matches!(end, End::LostFirst));
                for ((name, _), value) in RESPONSES.iter().zip(values).skip(lost) {
                    trial.values.push(Values::exact(None, name, &[*value]));
                }
                if lost > 0 {
                    trial.lost.insert(RESPONSES[0].0.to_owned(), "no result".to_owned());
                }
            }
        }
        set.trials.push(trial);
    }
    for factor in &mut set.factors {
        let levels = set.trials.iter().map(|trial| trial.levels[&factor.name].clone());
        factor.levels = analysis::distinct(levels);
    }
    set
}

/// A measurement as far as it is compared: identity, unit, direction, outcome, session, value.
type Meaning = (Vec<(String, String)>, String, String, String, String, String, u64);

/// All measurements of a set, in an order that does not depend on the format.
fn meanings(set: &Dataset) -> Vec<Meaning> {
    meanings_by(set, &["benchmark", "pkg", "procs"])
}

/// [`meanings`] with these names of the identity.
fn meanings_by(set: &Dataset, names: &[&str]) -> Vec<Meaning> {
    let mut all = Vec::new();
    for trial in &set.trials {
        // A level that is the same in all trials is a fact of one set, and a factor of another.
        let level = |name: &str| {
            let known = trial.levels.get(name).or_else(|| trial.identity.get(name));
            (name.to_owned(), known.cloned().unwrap_or_default())
        };
        let identity: Vec<(String, String)> = names.iter().map(|name| level(name)).collect();
        let session = trial.session.clone().unwrap_or_default();
        let mut push = |response: &str, outcome: String, value: u64| {
            let known = set.responses.get(response);
            let unit = known.map(|it| it.unit.clone()).unwrap_or_default();
            let direction = known.map(|it| it.direction.word().to_owned()).unwrap_or_default();
            let response = response.to_owned();
            all.push((
                identity.clone(),
                response,
                unit,
                direction,
                outcome,
                session.clone(),
                value,
            ));
        };
        if trial.standing() == Standing::Failed {
            push("", trial.outcome(), 0);
            continue;
        }
        for values in &trial.values {
            for Observation { value, .. } in &values.samples {
                push(&values.response, "completed".to_owned(), value.to_bits());
            }
        }
        for (response, why) in &trial.lost {
            push(response, format!("failed: {why}"), 0);
        }
        if trial.values.is_empty() && trial.lost.is_empty() {
            push("", trial.outcome(), 0);
        }
    }
    all.sort();
    all
}

fn to_go(set: &Dataset) -> String {
    let mut out = Vec::new();
    go::write(set, go::Each::Trial, &mut out).expect("it is in memory");
    String::from_utf8(out).expect("it is text")
}

fn to_csv(set: &Dataset) -> String {
    let mut out = Vec::new();
    formats::observed(set, |columns| Ok(Box::new(CsvFile::new(columns, &mut out)?)))
        .expect("it is in memory");
    String::from_utf8(out).expect("it is text")
}

/// Repetitions of a command: its name, and a time in ms with how it ended.
type Repeated = (usize, Vec<(u32, usize)>);

/// What an import of hyperfine's JSON makes of a repetition without an exit code that shows how it
/// failed.
const NO_CODE: &str = "no exit code: ended by a signal or at a limit of time";

/// How repetitions fail, what an import makes of it, and what is recorded of their ends.
const FAILURES: [Option<(&str, &str, WorkEnd)>; 7] = [
    None,
    None,
    None,
    Some(("exit code 3: no such file", "exit code 3", WorkEnd::Exited { code: 3 })),
    Some(("ended by signal 9", NO_CODE, WorkEnd::Signalled { signal: 9 })),
    Some((
        "exit code 0, and the kernel killed one of its processes for lack of memory",
        NO_CODE,
        WorkEnd::KilledForMemory { processes: 1, code: Some(0) },
    )),
    Some((
        "exit code 5, and the kernel killed 2 of its processes for lack of memory",
        "exit code 5",
        WorkEnd::KilledForMemory { processes: 2, code: Some(5) },
    )),
];

/// A run of commands under a load.
fn run_of_commands(load: &str, commands: &[Repeated]) -> Run {
    let header = json!({
        "kind": "header", "schema": 1, "run_id": load, "thrashlab": "0", "started_unix_ns": 0,
        "spec": {
            "subject": {"kind": "host", "memory_bytes": 1},
            "load": {"name": load, "version": 1, "intensity": 1.0},
            "job": {"name": "command", "version": 1},
            "timing": {
                "profile": "default", "interval_ns": 1, "points": 1, "warmup_ns": 1,
                "timeout_ns": 1,
            },
            "seed": 1, "block": 0, "order": 0,
        },
        "environment": {}, "missed": [],
    });
    let mut lines = vec![header.to_string()];
    for (command, repetitions) in commands {
        for (pass, (time_ms, end)) in repetitions.iter().enumerate() {
            let started_ns = pass as u64 * 100_000_000_000;
            let mut work = json!({
                "kind": "work", "at_ns": 0, "worker": 0, "pass": pass,
                "item": format!("./c {command}"), "started_ns": started_ns,
                "completed_ns": started_ns + u64::from(*time_ms) * 1_000_000,
                "usage": {"user_ns": 1, "system_ns": 1, "peak_bytes": 4096 + pass},
            });
            if let Some((failure, _, end)) = &FAILURES[*end] {
                work["failure"] = (*failure).into();
                work["ended"] = serde_json::to_value(end).expect("it is a line of a run");
            }
            lines.push(work.to_string());
        }
    }
    Run::parse((lines.join("\n") + "\n").as_bytes()).expect("it is a run")
}

/// What the repetitions of these commands mean, apart from what they used.
fn meanings_of_commands(times: &CommandTimes) -> Vec<Meaning> {
    let mut all = Vec::new();
    for row in &times.rows {
        for repetition in &row.repetitions {
            let reason = FAILURES.iter().flatten().find(|(_, _, end)| repetition.end == *end);
            let seconds = (repetition.elapsed_ns.value / 1e9).to_bits();
            let (response, unit, better, outcome, value) = match reason {
                None => ("elapsed_s", "s", "less", "completed".to_owned(), seconds),
                Some((_, reason, _)) => ("", "", "", format!("failed: {reason}"), 0),
            };
            let identity = vec![("command".to_owned(), row.command.clone())];
            let [response, unit, better] = [response, unit, better].map(str::to_owned);
            let session = "the file".to_owned();
            all.push((identity, response, unit, better, outcome, session, value));
        }
    }
    all.sort();
    all
}

fn read(text: &str) -> Dataset {
    let options = Options { allow_repeats: true, ..Options::default() };
    dataset("test", text, None, &options).unwrap_or_else(|refusal| panic!("{refusal}\n{text}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn commands_in_the_json_of_hyperfine_keep_all_that_they_mean(
        lengths in vec(vec((1_u32..50_000, 0..FAILURES.len()), 1..8), 1..4),
    ) {
        let commands: Vec<Repeated> = lengths.into_iter().enumerate().collect();
        let times = CommandTimes::from_runs(&[run_of_commands("noload", &commands)], BTreeMap::new());
        let expected = meanings_of_commands(&times);
        let text = hyperfine::text(&[(BTreeMap::new(), times)]);
        prop_assume!(text.is_some());
        let once = read(&text.unwrap_or_default());
        let of_times = |set: &Dataset| -> Vec<Meaning> {
            let is_time = |it: &Meaning| matches!(it.1.as_str(), "elapsed_s" | "");
            meanings_by(set, &["command"]).into_iter().filter(is_time).collect()
        };
        prop_assert_eq!(of_times(&once), expected.clone());
        prop_assert_eq!(of_times(&read(&to_csv(&once))), expected);
    }

    #[test]
    fn what_was_exported_is_imported_with_all_that_it_means(trials in generated()) {
        // Go's format has no file without a measurement.
        prop_assume!(trials.iter().any(|it| matches!(it.4, End::Completed)));
        let set = observations(&trials);
        let expected = meanings(&set);
        let formats: [(&str, Write); 2] = [("go", to_go), ("csv", to_csv)];
        for (first, write) in formats {
            let once = read(&write(&set));
            prop_assert_eq!(meanings(&once), expected.clone(), "{}\n{}", first, write(&set));
            for (second, write) in formats {
                let twice = read(&write(&once));
                prop_assert_eq!(meanings(&twice), expected.clone(), "{} to {}", first, second);
            }
        }
    }
}
