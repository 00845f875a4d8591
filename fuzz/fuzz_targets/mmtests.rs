//! Any logs are results of MMTests or refused; every value is finite and of a known metric, and a
//! trial has a benchmark and a case. A log begins with `BENCHMARK/FILE`; a line `%` ends it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use formats::Options;
use formats::mmtests::{LogFile, mmtests};

fuzz_target!(|text: &str| {
    let file = |log: &str| {
        let (place, text) = log.split_once('\n').unwrap_or((log, ""));
        let (benchmark, name) = place.split_once('/').unwrap_or(("", place));
        LogFile {
            run: None,
            iteration: "iter-0".to_owned(),
            benchmark: benchmark.to_owned(),
            name: name.to_owned(),
            text: text.to_owned(),
        }
    };
    let files: Vec<LogFile> = text.split("\n%\n").map(file).collect();
    let Ok(set) = mmtests("fuzz", &files, &[], &Options::default()) else { return };
    assert!(!set.trials.is_empty());
    for trial in &set.trials {
        for factor in &set.factors {
            assert!(factor.levels.contains(&trial.levels[&factor.name]));
        }
        for values in &trial.values {
            assert!(set.responses.contains_key(&values.response));
            assert!(!values.samples.is_empty());
            assert!(values.samples.iter().all(|it| it.value.is_finite()));
        }
    }
    for response in &set.wanted {
        assert!(set.responses.contains_key(response));
    }
});
