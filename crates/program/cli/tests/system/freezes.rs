//! Results of freezes that exist: shown again, and as advice for this machine.

use std::fs;

use serde_json::Value;

use crate::support::Fixture;

/// The suites that are part of the documentation.
const SUITES: [&str; 3] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/freeze/suite.json"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/freeze/daemons.json"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/freeze/groups.json"),
];

#[test]
fn the_suites_of_the_documentation_are_shown_again() {
    SUITES.into_iter().for_each(shown_again);
}

fn shown_again(suite: &str) {
    let fixture = Fixture::new();
    let finished = fixture.finish(fixture.thrashlab(&format!("freeze show {suite}")));
    finished.expect(0, &[]);
    let written: Value = serde_json::from_str(&fs::read_to_string(suite).unwrap()).unwrap();
    let (scenarios, policies) = (&written["scenarios"], &written["policies"]);
    let is_shown = |it: &Value| finished.stdout.contains(it["name"].as_str().unwrap());
    assert!(scenarios.as_array().unwrap().iter().all(is_shown), "{}", finished.stdout);
    assert!(policies.as_array().unwrap().iter().all(is_shown), "{}", finished.stdout);

    let again = fixture.finish(fixture.thrashlab(&format!("freeze show --json {suite}")));
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    for part in ["kernels", "scenarios", "policies", "cells"] {
        assert_eq!(again[part], written[part], "{part} is kept");
    }
}

#[test]
fn advice_names_what_this_machine_would_change_and_changes_nothing() {
    let fixture = Fixture::new();
    let finished = fixture.finish(fixture.thrashlab("freeze advise"));
    finished.expect(0, &[]);
    assert!(finished.stdout.contains("Nothing was changed"), "{}", finished.stdout);
    let all = fixture.finish(fixture.thrashlab("freeze advise --json"));
    let all: Value = serde_json::from_str(&all.stdout).unwrap();
    assert_eq!(all["scenarios"].as_array().unwrap().len(), 8);
    let of_database = fixture.finish(fixture.thrashlab("freeze advise --use database --json"));
    let of_database: Value = serde_json::from_str(&of_database.stdout).unwrap();
    assert_eq!(of_database["reference"], all["reference"]);
    let has_change = |it: &Value| !it["changes"].as_array().unwrap().is_empty();
    assert!(all["advice"].as_array().unwrap().iter().all(has_change), "{all:#}");
}

#[test]
fn every_daemon_of_the_documentation_is_a_policy_of_this_program() {
    let fixture = Fixture::new();
    let list = fixture.finish(fixture.thrashlab("freeze --list --json"));
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    let known = list["policies"].as_array().unwrap();
    for suite in &SUITES[1..] {
        let measured: Value = serde_json::from_str(&fs::read_to_string(suite).unwrap()).unwrap();
        for policy in measured["policies"].as_array().unwrap() {
            assert!(known.contains(policy), "its settings are no longer these: {policy:#}");
        }
    }
}

#[test]
fn files_that_are_no_results_are_refused_with_their_name() {
    let fixture = Fixture::new();
    for (text, why) in [("", "line 1"), ("{\"kernels\": 7}", "invalid type"), ("[]", "--json")] {
        fs::write(fixture.path().join("other.json"), text).unwrap();
        for words in ["freeze show other.json", "freeze advise other.json"] {
            let finished = fixture.finish(fixture.thrashlab(words));
            finished.expect(2, &["other.json", why]);
        }
    }
    let nothing = "{\"kernels\": [], \"scenarios\": [], \"policies\": [], \"cells\": []}";
    fs::write(fixture.path().join("other.json"), nothing).unwrap();
    let finished = fixture.finish(fixture.thrashlab("freeze advise other.json"));
    finished.expect(2, &["none of the scenarios"]);
}
