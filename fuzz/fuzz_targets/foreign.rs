//! Any text is read as observations in every format or refused; what was read has the levels of
//! its factors in every trial, and only finite figures.
#![no_main]

use libfuzzer_sys::fuzz_target;
use formats::{Format, Options, dataset};

fuzz_target!(|text: &str| {
    for format in Format::ALL.map(Some).into_iter().chain([None]) {
        let Ok(set) = dataset("fuzz", text, format, &Options::default()) else {
            continue;
        };
        for trial in &set.trials {
            for factor in &set.factors {
                let level = trial.levels.get(&factor.name);
                assert!(level.is_none_or(|level| factor.levels.contains(level)));
            }
            for values in &trial.values {
                assert!(set.responses.contains_key(&values.response));
                assert!(values.samples.iter().all(|sample| sample.value.is_finite()));
            }
        }
    }
});
