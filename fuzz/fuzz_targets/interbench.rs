//! Any text is an output of interbench or refused; every row has a task, a load and figures from 0
//! on.
#![no_main]

use libfuzzer_sys::fuzz_target;
use formats::{Format, Options, dataset};

fuzz_target!(|text: &str| {
    let format = Format::named("interbench");
    let Ok(set) = dataset("fuzz", text, format, &Options::default()) else {
        return;
    };
    for trial in &set.trials {
        assert!(set.factors.iter().all(|it| it.levels.contains(&trial.levels[&it.name])));
        assert!(trial.values.len() <= 5);
        assert!(trial.values.iter().flat_map(|it| &it.samples).all(|delay| delay.value >= 0.0));
    }
});
