//! What was read in any format is written as a report for KCIDB as its schema wants it, and in the
//! Bencher Metric Format: ids differ, paths have allowed names, nothing is null.
#![no_main]

use std::collections::BTreeSet;

use formats::kcidb::Build;
use formats::{bencher, kcidb};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use formats::{Options, dataset};

fuzz_target!(|text: &str| {
    let Ok(set) = dataset("fuzz", text, None, &Options::default()) else { return };
    let build = Build::new("fuzz", "fuzz:1", Some("fuzz:2")).expect("the names are allowed");
    if let Some(text) = kcidb::text(&set, &build) {
        let report: Value = serde_json::from_str(&text).expect("it is JSON");
        assert!(!has_null(&report), "{text}");
        let mut ids = BTreeSet::new();
        for test in report["tests"].as_array().expect("it has tests") {
            assert!(ids.insert(test["id"].to_string()), "{text}");
            let path = test["path"].as_str().expect("it has a path");
            let is_plain = |it: char| it.is_ascii_alphanumeric() || "_-".contains(it);
            assert!(path.split('.').all(|name| !name.is_empty() && name.chars().all(is_plain)));
            for text in ["comment", "id"].map(|name| test[name].as_str().expect("it is text")) {
                assert!(!text.contains('\0'), "{text}");
            }
        }
    }
    if let Some(text) = bencher::text(&set) {
        let metrics: Value = serde_json::from_str(&text).expect("it is JSON");
        assert!(!has_null(&metrics), "{text}");
    }
});

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(all) => all.iter().any(has_null),
        Value::Object(all) => all.values().any(has_null),
        _ => false,
    }
}
