//! Recordings and traces that version 0.1.0 wrote are read as that version read them.
//!
//! `before/` has them, and what that program computed from them: the costs that it diagnosed, and
//! the references of the trace as CSV; a rule that is younger cannot judge them.

use std::fs;

use serde_json::Value;

use crate::support::Fixture;

const BEFORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/system/before");

#[test]
fn a_recording_of_before_has_the_same_costs() {
    let fixture = Fixture::new();
    let replay = format!("doctor --replay {BEFORE}/recording.jsonl --json");
    let finished = fixture.finish(fixture.thrashlab(&replay));
    finished.expect(0, &[]);
    let found: Value = serde_json::from_str(&finished.stdout).unwrap();
    let mut text = format!("elapsed {}\n", found["elapsed_ns"]);
    for finding in found["findings"].as_array().unwrap() {
        let amount = finding.get("at_least").unwrap_or(finding);
        text += &format!("found {} {}\n", finding["rule"].as_str().unwrap(), amount["lost_ns"]);
    }
    for (name, key) in [("ruled out", "ruled_out"), ("unable", "unable")] {
        for rule in found[key].as_array().unwrap() {
            let rule = rule.get("rule").unwrap_or_else(|| &rule[0]);
            text += &format!("{name} {}\n", rule.as_str().unwrap());
        }
    }
    assert_eq!(text, include_str!("before/recording.txt"));
}

#[test]
fn a_trace_of_before_has_the_same_references() {
    let fixture = Fixture::new();
    let convert = format!("trace convert {BEFORE}/true.tlt --to csv --output out.csv");
    fixture.finish(fixture.thrashlab(&convert)).expect(0, &[]);
    let csv = fs::read_to_string(fixture.path().join("out.csv")).unwrap();
    assert_eq!(csv, include_str!("before/true.csv"));
}
