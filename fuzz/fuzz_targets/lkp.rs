//! Any text is a result of lkp-tests or refused; a run of a result root has one figure per key,
//! which is finite and not the 0 of a missing value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use formats::{Format, Options, dataset};

fuzz_target!(|text: &str| {
    let Ok(set) = dataset("fuzz", text, Format::named("lkp"), &Options::default()) else {
        return;
    };
    let of_root = text.contains("stats_source") && set.trials.len() > 1;
    for values in set.trials.iter().flat_map(|trial| &trial.values) {
        assert!(set.responses.contains_key(&values.response));
        assert!(values.samples.iter().all(|it| it.value.is_finite()));
        assert!(!of_root || matches!(values.samples[..], [it] if it.value != 0.0));
    }
});
