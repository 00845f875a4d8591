//! Any text is an output of schbench or refused; every figure is one, and no delay is invented.
#![no_main]

use libfuzzer_sys::fuzz_target;
use formats::{Format, Options, dataset};

fuzz_target!(|text: &str| {
    let format = Format::named("schbench");
    let Ok(set) = dataset("fuzz", text, format, &Options::default()) else {
        return;
    };
    for values in &set.trials[0].values {
        assert!(matches!(values.samples[..], [it] if it.value.is_finite() && it.value >= 0.0));
        let meaning = &set.responses[&values.response];
        assert_eq!(meaning.more_is_better(), values.response.starts_with("rps"));
    }
});
