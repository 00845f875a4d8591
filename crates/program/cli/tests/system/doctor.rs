//! The doctor's command: the running machine, recordings, published counters, wrong use.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Finished, Fixture};

/// The doctor with its costs kept in the test's own folder.
fn doctor(fixture: &Fixture, arguments: &str) -> Finished {
    let mut command = fixture.thrashlab(&format!("doctor {arguments}"));
    command.env("XDG_CACHE_HOME", fixture.path().join("cache"));
    fixture.finish(command)
}

fn json(finished: &Finished) -> Value {
    finished.expect(0, &[]);
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:#?}"))
}

#[test]
fn a_recording_is_diagnosed_again_with_the_same_words() {
    let fixture = Fixture::new();
    let watched = doctor(&fixture, "--for 300ms --record sick.jsonl --verbose --no-stacks");
    watched.expect(0, &[]);
    assert!(watched.stdout.starts_with("Over "), "{}", watched.stdout);
    let replayed = doctor(&fixture, "--replay sick.jsonl --verbose");
    assert_eq!(replayed.stdout, watched.stdout);

    let found = json(&doctor(&fixture, "--replay sick.jsonl --json"));
    assert!(found["elapsed_ns"].as_u64().unwrap() >= 300_000_000);
    let asked = ["findings", "ruled_out", "unable"].map(|key| found[key].as_array().unwrap().len());
    assert!(asked.iter().sum::<usize>() >= doctor::ALL.len(), "every rule has a result: {found}");

    let again = doctor(&fixture, "--for 10ms --record sick.jsonl");
    again.expect(2, &["create sick.jsonl", "File exists"]);
    let text = fs::read_to_string(fixture.path().join("sick.jsonl")).unwrap();
    let damaged = text.replacen("\"at_ns\":", "\"at_ns\":-1", 1);
    fs::write(fixture.path().join("damaged.jsonl"), damaged).unwrap();
    doctor(&fixture, "--replay damaged.jsonl").expect(2, &["damaged.jsonl: line 2, column "]);
    let short = text.lines().take(2).map(|line| format!("{line}\n")).collect::<String>();
    fs::write(fixture.path().join("short.jsonl"), short).unwrap();
    doctor(&fixture, "--replay short.jsonl").expect(2, &["a diagnosis needs two snapshots"]);
}

#[test]
fn costs_are_measured_once_a_boot() {
    let fixture = Fixture::new();
    let costs = json(&doctor(&fixture, "--calibrate --json"));
    assert!(costs["costs"]["first_touch"]["ns"].as_f64().unwrap() > 0.0, "{costs}");
    let file = || {
        let dir = fs::read_dir(fixture.path().join("cache/thrashlab/unit-costs")).unwrap();
        fs::read(dir.last().unwrap().unwrap().path()).unwrap()
    };
    let measured = file();
    doctor(&fixture, "--for 10ms").expect(0, &[]);
    assert_eq!(file(), measured, "they are not measured again");
    let kept = || fs::read_dir(fixture.path().join("cache/thrashlab/unit-costs")).unwrap().count();
    assert_eq!(kept(), 1);
    doctor(&fixture, "--since-boot").expect(0, &[]);
    assert_eq!(kept(), 1);
}

#[test]
fn costs_are_measured_where_the_current_folder_takes_no_file() {
    let fixture = Fixture::new();
    let mut command = fixture.thrashlab("doctor --calibrate --json");
    command.current_dir("/proc").env("XDG_CACHE_HOME", fixture.path().join("cache"));
    let costs = json(&fixture.finish(command));
    let missed = costs["missed"]["file_refault"].as_str().unwrap_or_default();
    let is_measured = costs["costs"]["file_refault"]["ns"].as_f64().is_some();
    // Where no folder is on a disk, each that was tried is named.
    assert!(is_measured || missed.contains("/var/tmp"), "{costs}");
    let asked = doctor(&fixture, "--calibrate --json --work-dir /proc");
    let asked = json(&asked);
    let missed = asked["missed"]["file_refault"].as_str().unwrap();
    assert!(missed.contains("/proc") && !missed.contains("/var/tmp"), "only where it was asked to");
}

#[test]
fn the_counters_of_1990_cost_seven_hours() {
    let fixture = Fixture::new();
    let told = doctor(&fixture, "--from reference:sun4/hatcnt");
    told.expect(0, &[]);
    for words in ["24,062 s", "6.68 h of 48 h", "13.9 %", "x 16 faults", "3.34 h"] {
        assert!(told.stdout.contains(words), "{words:?} is not in\n{}", told.stdout);
    }
    let json = json(&doctor(&fixture, "--from reference:sun4/hatcnt --json"));
    assert_eq!(json["all_pages"]["lost_ns"], 24_062_187_520_000_u64);
    let other = doctor(&fixture, "--from reference:sun4/models");
    other.expect(2, &["this is not a set of counters; use reference:sun4/hatcnt"]);
}

#[test]
fn metrics_are_for_a_collector_and_rules_for_people() {
    let fixture = Fixture::new();
    doctor(&fixture, "--for 10ms --openmetrics thrashlab.prom").expect(0, &[]);
    let metrics = fs::read_to_string(fixture.path().join("thrashlab.prom")).unwrap();
    assert!(metrics.contains("\nthrashlab_doctor_interval_seconds 0."), "{metrics}");
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    let rules = doctor(&fixture, "--rules");
    for rule in doctor::ALL {
        assert!(rules.stdout.contains(rule.name), "{}: {}", rule.name, rules.stdout);
    }
}

#[test]
fn a_command_is_diagnosed_with_its_streams_and_exit_code_and_leaves_nothing() {
    let fixture = Fixture::new();
    fs::write(fixture.path().join("in"), "one\n").unwrap();
    let seconds = format!("3{}", std::process::id());
    let line = format!("setsid sleep {seconds} & cat; sleep 0.2; exit 7");
    let mut command = fixture.thrashlab("doctor --verbose --input in --shell sh --");
    command.arg(line);
    let finished = fixture.finish(command);
    finished.expect(7, &["command", "ended with 7"]);
    assert_eq!(finished.stdout, "one\n", "standard output is the command's");
    let is_left = fs::read_dir("/proc").unwrap().any(|process| {
        let words = fs::read(process.unwrap().path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(&seconds)
    });
    assert!(!is_left, "what it left running is ended");
    let missing = fixture.finish(fixture.thrashlab("doctor -- no-such-program"));
    missing.expect(2, &["no-such-program: cannot be started"]);
}

#[test]
fn a_signal_is_passed_on_to_the_command() {
    let fixture = Fixture::new();
    let mut command = fixture.thrashlab("doctor --");
    command.args(["sh", "-c", "trap 'echo caught; exit 9' TERM; touch begun; sleep 60 & wait"]);
    let mut running = fixture.start(command);
    running.await_that("the command begins", || fixture.path().join("begun").exists());
    running.signal(Signal::TERM);
    running.wait().expect(9, &["ended with 9"]);
}
