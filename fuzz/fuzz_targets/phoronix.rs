//! Any text is a result file of the Phoronix Test Suite or refused; a trial has a system, and one
//! finite value of each of its results.
#![no_main]

use libfuzzer_sys::fuzz_target;
use formats::{Format, Options, dataset};

fuzz_target!(|text: &str| {
    let Ok(set) = dataset("fuzz", text, Format::named("phoronix"), &Options::default()) else {
        return;
    };
    assert!(!set.trials.is_empty());
    for trial in &set.trials {
        assert!(set.factors[0].levels.contains(&trial.levels["system"]));
        for values in &trial.values {
            assert!(set.responses.contains_key(&values.response));
            assert!(matches!(values.samples[..], [it] if it.value.is_finite()));
            let same = trial.values.iter().filter(|it| it.response == values.response);
            assert_eq!(same.count(), 1);
        }
    }
});
