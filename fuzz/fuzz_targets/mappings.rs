//! Any text is a list of mappings or a process's status, or refused with its place; never a panic.
#![no_main]

use counters::parse::{smaps, task_status};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let lines = text.split('\n').count();
    match smaps(text) {
        Ok(mappings) => assert!(mappings.iter().all(|mapping| mapping.start < mapping.end)),
        Err(error) => assert!((1..=lines).contains(&error.line), "{error}"),
    }
    if let Err(error) = task_status(text) {
        assert!((1..=lines).contains(&error.line), "{error}");
    }
});
