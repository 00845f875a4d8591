//! Any text is an output of cyclictest or refused; every delay that was read is a cycle, and the
//! whole has those of all threads.
#![no_main]

use libfuzzer_sys::fuzz_target;
use formats::{Format, Options, dataset};

fuzz_target!(|text: &str| {
    let format = Format::named("cyclictest");
    let Ok(set) = dataset("fuzz", text, format, &Options::default()) else {
        return;
    };
    let trial = &set.trials[0];
    let parts: Vec<_> = trial.values.iter().filter(|values| values.part.is_some()).collect();
    for values in &trial.values {
        let is_delay = |value_ns: f64| value_ns.is_finite() && value_ns >= 0.0;
        assert!(values.samples.iter().all(|delay| is_delay(delay.value)));
        assert!(values.censored() < values.samples.len());
    }
    if let (Some(whole), false) = (trial.samples(None, "delay_ns"), parts.is_empty()) {
        let of_parts: usize = parts.iter().map(|values| values.samples.len()).sum();
        assert_eq!(whole.len(), of_parts);
    }
});
