//! Any text is a configuration file or refused with its place. Values that were read have known names
//! and are not empty.
#![no_main]

use libfuzzer_sys::fuzz_target;
use store::config::parse;

const NAMES: [&str; 4] = ["jobs", "margin", "subject", "work-dir"];

fuzz_target!(|text: &str| {
    let check = |_: &str, value: &str| match value.len() {
        0..=64 => Ok(()),
        _ => Err("too long".to_owned()),
    };
    match parse(text, &NAMES, check) {
        Ok(values) => {
            let is_known = |(name, value): (&String, &String)| {
                NAMES.contains(&name.as_str()) && (1..=64).contains(&value.len())
            };
            assert!(values.iter().all(is_known), "{values:?}");
        }
        Err(error) => assert!(error.line >= 1 && !error.reason.is_empty(), "{error}"),
    }
});
