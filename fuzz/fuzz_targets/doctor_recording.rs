//! Any text is a recording of the doctor or refused with its place; one that was read can be
//! diagnosed.
#![no_main]

use doctor::{Interval, Recording, diagnose};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Recording::parse(text) {
        Ok(recording) => {
            if let [before, .., after] = recording.snapshots.as_slice() {
                let found = diagnose(&Interval::new(before, after), &recording.header.costs);
                assert!(found.findings.iter().all(|finding| finding.lost().is_none_or(|lost| lost.lost_share >= 0.0)));
            }
        }
        Err(error) => assert!(error.to_string().starts_with("line ")),
    }
});
