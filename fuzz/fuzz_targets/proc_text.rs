//! Any text is the kernel's text in one of its formats, or refused with its place; never a panic.
#![no_main]

use counters::parse::{
    colon_keyed, flat_keyed, interrupts, limit, pressure, proc_stat, schedstat, single_value,
    task_stat, task_status_counters,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let formats = [
        colon_keyed,
        flat_keyed,
        interrupts,
        limit,
        pressure,
        proc_stat,
        schedstat,
        single_value,
        task_stat,
        task_status_counters,
    ];
    for parse in formats {
        if let Err(error) = parse(text) {
            assert!(!error.to_string().is_empty());
        }
    }
});
