//! Any text is an output of `perf stat -j` or refused; every trial has a count, and none twice.
#![no_main]

use libfuzzer_sys::fuzz_target;
use formats::{Format, Options, dataset};

fuzz_target!(|text: &str| {
    let format = Format::named("perf");
    let Ok(set) = dataset("fuzz", text, format, &Options::default()) else {
        return;
    };
    for trial in &set.trials {
        assert!(!trial.values.is_empty());
        let mut places: Vec<_> = trial.values.iter().map(|it| (&it.part, &it.response)).collect();
        let all = places.len();
        places.sort();
        places.dedup();
        assert_eq!(places.len(), all);
    }
});
