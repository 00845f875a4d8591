//! Freezes: a small scenario in a guest, the same result again without a guest, and wrong names.

use std::fs;

use crate::lab::Lab;
use crate::support::Finished;

/// Fills the memory in a few seconds, where there is no swap.
const SCENARIO: &str = "name = \"short\"\n[set]\nload = \"exhaust-burst\"\n\
                        subject.swap = 0\ninterval = \"250ms\"\npoints = 16\n";

fn freeze(lab: &Lab, arguments: &[&str]) -> Finished {
    lab.command(&[&["freeze"], arguments].concat())
}

#[test]
fn a_process_that_takes_all_memory_is_killed_and_the_run_goes_on() {
    const NAME: &str = "a_process_that_takes_all_memory_is_killed_and_the_run_goes_on";
    let Some(lab) = Lab::new(NAME) else { return };
    let machine = lab.machine();
    let kernel = machine.split_once("kernel=").unwrap().1;
    fs::write(lab.fixture.path().join("short.toml"), SCENARIO).unwrap();
    let request = ["short.toml", "--policy", "no-swap", "--kernels", kernel, "--folder", "output"];

    let first = freeze(&lab, &request);
    first.expect(0, &["1 scenario, 2 policies: 1 run"]);
    assert!(first.stdout.contains("1 offender"), "{}", first.stdout);
    let again = freeze(&lab, &request);
    assert!(!again.stderr.contains("virtual time"), "nothing runs: {}", again.stderr);
    assert_eq!(again.stdout, first.stdout);

    let json = freeze(&lab, &[&request[..], &["--json"]].concat());
    let figures: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let run = &figures["cells"][0]["runs"][0];
    assert_eq!(run["victims"]["offenders"], 1, "{run}");
    assert_eq!((run["responses"].as_u64(), run["status"].as_str()), (Some(16), Some("complete")));
    assert!(run["idle_s"].as_f64().unwrap() > 0.0 && !run["frozen_s"].is_null(), "{run}");
    freeze(&lab, &[&request[..], &["-o", "page.html"]].concat()).expect(0, &["wrote page.html"]);
}

#[test]
fn a_wrong_name_gets_the_nearest_one() {
    let lab = Lab::without_guests();
    freeze(&lab, &["leek"]).expect(2, &["no scenario is named \"leek\"", "nearest is leak"]);
    freeze(&lab, &["leak", "--policy", "zrm"]).expect(2, &["nearest is zram", "freeze --list"]);
    freeze(&lab, &["none.toml"]).expect(2, &["none.toml: read it"]);
    freeze(&lab, &["leak", "--everything"]).expect(2, &["--everything"]);
    let list = freeze(&lab, &["--list"]);
    list.expect(0, &[]);
    assert!(list.stdout.contains("container") && list.stdout.contains("min-ttl"));
}
