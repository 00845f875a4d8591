//! `thrashlab ab`: a planted difference is found, a finished comparison is read again, and an
//! interrupted one goes on.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::left::{assert_nothing_left, queue_keys};
use crate::support::{Finished, Fixture};

/// A session of one command that takes as long as a variable says.
const SCRIPT: &str = "name = \"test\"\nusers = 1\nthink = \"1ms\"\n[variables]\ncost = \"0.01\"\n\
    [[command]]\nname = \"work\"\nrun = [\"sleep\", \"{cost}\"]\n";
const SESSION: &str = "--job session --set session.script=script.toml --subject host:mem=64M \
    --work-dir work";

fn ab(fixture: &Fixture, arguments: &str) -> Finished {
    fs::write(fixture.path().join("script.toml"), SCRIPT).unwrap();
    fixture.finish(fixture.thrashlab(&format!("ab {arguments} {SESSION}")))
}

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:#?}"))
}

#[test]
fn a_difference_is_certain_after_few_blocks_and_fails_in_ci() {
    let fixture = Fixture::new();
    let line = "session.cost 0.05 0.4 -o output";
    let finished = ab(&fixture, &format!("{line} --fail-on regression:10%"));
    finished.expect(1, &[]);
    for words in ["0.4 is a regression against 0.05", "the difference is certain", "at this look"] {
        assert!(finished.sentences().contains(words), "{words:?} is not in\n{}", finished.stdout);
    }
    let queues = queue_keys(&fixture);
    assert_nothing_left(&fixture, 0, &queues);
    // Again, from the folder: the same, without a run. The margin was that of --fail-on.
    let again = ab(&fixture, &format!("{line} --margin 10% --json"));
    again.expect(0, &["runs already existed"]);
    let found = json(&again);
    assert_eq!(found["stop"], "different");
    let blocks = found["blocks"].as_u64().unwrap();
    assert!((4..=20).contains(&blocks), "{found}");
    let manifest = results::manifest::read(&fixture.output()).unwrap().unwrap();
    assert_eq!(manifest.runs.len() as u64, 2 * blocks);
    // The folder is one of an experiment.
    let compared = fixture.finish(fixture.thrashlab("compare output --factor session.cost"));
    compared.expect(0, &[]);
    assert!(compared.sentences().contains("worse in 2 of 2"), "{}", compared.stdout);
    // Another margin would be another comparison.
    ab(&fixture, line).expect(2, &["output holds the experiment", "--output DIR"]);
}

#[test]
fn a_fixed_number_of_blocks_has_one_look_and_a_plan_that_can_be_run() {
    let fixture = Fixture::new();
    let line = "session.cost 0.01 0.2 --blocks 2";
    let plan = ab(&fixture, &format!("{line} --dry-run"));
    plan.expect(0, &[]);
    assert!(
        plan.stdout.contains("blocks = 2") && plan.stdout.contains("session.cost"),
        "{plan:#?}"
    );
    fs::write(fixture.path().join("plan.toml"), &plan.stdout).unwrap();
    fixture.finish(fixture.thrashlab("experiment plan.toml --dry-run")).expect(0, &[]);
    assert!(!fixture.path().join("data").exists(), "it ran nothing");
    let found = json(&ab(&fixture, &format!("{line} --json")));
    assert_eq!((&found["blocks"], &found["looks"]), (&Value::from(2), &Value::from(1)));
    assert_eq!(found["level"], 0.01);
    // Its folder has the margin, which a comparison takes from there.
    let first = fs::read_dir(fixture.path().join("data/thrashlab")).unwrap().next();
    let folder = first.unwrap().unwrap().path().display().to_string();
    let compared = |more: &str| {
        let words = format!("compare {folder} --factor session.cost --json{more}");
        json(&fixture.finish(fixture.thrashlab(&words)))["margin"].clone()
    };
    assert_eq!((compared(""), compared(" --margin 7%")), (0.03.into(), 0.07.into()));
    let other = json(&ab(&fixture, &format!("{line} --alpha 0.05 --json")));
    assert_eq!(other["level"], 0.05, "another comparison, with its own folder");
    // What is over is measured again, in a folder of its own.
    ab(&fixture, line).expect(0, &["-2"]);
    let folders = fs::read_dir(fixture.path().join("data/thrashlab")).unwrap();
    assert_eq!(folders.count(), 3);
}

#[test]
fn an_interrupted_comparison_goes_on() {
    let fixture = Fixture::new();
    fs::write(fixture.path().join("script.toml"), SCRIPT).unwrap();
    let line = format!("ab session.cost 0.3 0.31 --blocks 3 -o output {SESSION}");
    let mut running = fixture.start(fixture.thrashlab(&line));
    let files = || fs::read_dir(fixture.output()).map_or(0, Iterator::count);
    running.await_that("two runs and the manifest", || files() >= 3);
    running.signal(Signal::INT);
    running.wait().expect(130, &["run the same command again to resume it"]);
    let finished = fixture.finish(fixture.thrashlab(&line));
    finished.expect(0, &["already"]);
    assert!(
        finished.sentences().contains("3 of at most 3 blocks")
            || finished.sentences().contains("All 3 blocks"),
        "{}",
        finished.stdout
    );
    let runs = results::manifest::read(&fixture.output()).unwrap().unwrap().runs;
    assert_eq!(runs.len(), 6);
}

#[test]
fn what_cannot_be_compared_is_refused_before_any_run() {
    let fixture = Fixture::new();
    for (line, code, words) in [
        ("ab colour red blue", 2, "neither a parameter of plans"),
        ("ab load noload no-such-load", 2, "no load is named"),
        ("ab load noload", 2, "<B>"),
        ("ab git no-such-revision HEAD -- true", 2, "no-such-revision"),
        ("ab command ./a ./b -- ./c", 2, "nothing follows --"),
    ] {
        fixture.finish(fixture.thrashlab(line)).expect(code, &[words]);
    }
    assert!(!fixture.path().join("data").exists());
}
