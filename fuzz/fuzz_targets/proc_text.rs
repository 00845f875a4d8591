//! Any text is the kernel's text in one of its formats, or refused with its place; never a panic.
#![no_main]

use counters::parse::{
    colon_keyed, flat_keyed, pressure, proc_stat, schedstat, single_value, task_stat,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for parse in [colon_keyed, flat_keyed, pressure, proc_stat, schedstat, task_stat] {
        if let Err(error) = parse(text) {
            assert!(!error.to_string().is_empty());
        }
    }
    if let Err(error) = single_value(text) {
        assert!(!error.to_string().is_empty());
    }
});
