//! `thrashlab compare` and `thrashlab import` as a user and a CI job see them.

use std::fs;

use crate::support::{Finished, Fixture};

fn thrashlab(fixture: &Fixture, arguments: &str) -> Finished {
    fixture.finish(fixture.thrashlab(arguments))
}

/// The trials of Project MAC's first experiment.
const FIRST: &str = "compare reference:multics/experiment1 --factor system";

#[test]
fn a_regression_fails_a_job_that_asks_for_it() {
    let fixture = Fixture::new();
    let cases = [
        ("", 0),
        (" --fail-on regression", 1),
        (" --fail-on regression:15%", 1),
        (" --margin 10% --fail-on regression:48%", 1),
        (" --margin 10% --fail-on regression:60%", 0),
        (" --fail-on regression:60%", 0),
    ];
    for (arguments, code) in cases {
        let finished = thrashlab(&fixture, &format!("{FIRST}{arguments}"));
        finished.expect(code, &[]);
        assert!(finished.stdout.contains("×1.49"), "{arguments}: {}", finished.stdout);
    }
    let json = thrashlab(&fixture, &format!("{FIRST} --json --fail-on regression"));
    json.expect(1, &[]);
    let found: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let cell = &found["cells"][0];
    assert_eq!(cell["verdict"], "regression");
    let judged = &cell["outcome"]["judged"];
    assert_eq!((&judged["method"], &judged["rank_can_fire"]), (&"welch-log".into(), &false.into()));
    assert!((judged["smallest_p"].as_f64().unwrap() - 2.0 / 35.0).abs() < 1e-12);
}

#[test]
fn a_joint_regression_that_no_cell_shows_fails_the_job_too() {
    let fixture = Fixture::new();
    let mut table = String::from("system,load,trial,time_ms\n");
    // Six loads of two trials a side with noise of some per cent, all about 20 % slower.
    let noise = [4.0, -5.0, 6.0, -3.0, 1.0, -6.0, 5.0, 2.0];
    for load in 0..6 {
        for (system, by) in [("old", 100.0), ("new", 120.0)] {
            for trial in 0..2 {
                let place = load * 3 + trial * 2 + usize::from(by > 110.0);
                let time = by * (1.0 + noise[place % 8] / 100.0);
                table.push_str(&format!("{system},load{load},{trial},{time:.3}\n"));
            }
        }
    }
    fs::write(fixture.path().join("joint.csv"), table).unwrap();
    let finished = thrashlab(&fixture, "compare joint.csv --factor system --fail-on regression");
    finished.expect(1, &[]);
    assert!(finished.sentences().contains("a regression over all 6 cells"), "{}", finished.stdout);
    assert!(!finished.sentences().contains("worse in"), "{}", finished.stdout);
    let json = thrashlab(&fixture, "compare joint.csv --factor system --json");
    json.expect(0, &[]);
    let found: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let overall = &found["overall"][0];
    assert_eq!((&overall["verdict"], &overall["cells"]), (&"regression".into(), &6.into()));
    assert!(overall["effect"]["low"].as_f64().unwrap() > 1.0);
    thrashlab(&fixture, "compare joint.csv --factor system --fail-on regression:60%")
        .expect(0, &[]);
}

#[test]
fn what_cannot_be_compared_is_2_and_says_why() {
    let fixture = Fixture::new();
    let ghost = "system,trial,faults\na,1,1921\nb,1,2452\na,2,1849\nb,2,2443\na,3,1921\nb,3,2452\n";
    fs::write(fixture.path().join("ghost.csv"), ghost).unwrap();
    let cases: [(&str, &[&str]); 7] = [
        ("compare", &["INPUT"]),
        ("compare reference:multics/experiment1", &["--factor", "system (17.11, 18.9)"]),
        ("compare /no/such/file /no/other", &["/no/such/file"]),
        (
            "compare ghost.csv --factor system",
            &["ghost.csv: line 6", "one measurement twice", "--allow-repeats"],
        ),
        ("compare reference:multics/experiment1 --factor system --margin x", &["such as 10%"]),
        (
            "compare reference:multics/experiment1 --factor system --fail-on slower",
            &["regression:15%"],
        ),
        ("import ghost.csv --input-format nosuch", &["perf, hyperfine, google, cyclictest"]),
    ];
    for (arguments, words) in cases {
        thrashlab(&fixture, arguments).expect(2, words);
    }
    thrashlab(&fixture, "compare ghost.csv --factor system --allow-repeats").expect(0, &[]);
}

#[test]
fn runs_are_compared_load_by_load_and_other_versions_are_refused() {
    let fixture = Fixture::new();
    fixture.finish(fixture.run("--load noload,cpuload")).expect(0, &[]);
    let folder = fixture.output();
    let same = thrashlab(&fixture, &format!("compare {0} {0}", folder.display()));
    same.expect(0, &[]);
    for words in ["noload", "cpuload", "Stalls", "×1.00"] {
        assert!(same.stdout.contains(words), "{}", same.stdout);
    }
    let other = fixture.path().join("other");
    fs::create_dir(&other).unwrap();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let changed =
            text.replace(r#""name":"cpuload","version":1"#, r#""name":"cpuload","version":9"#);
        fs::write(other.join(path.file_name().unwrap()), changed).unwrap();
    }
    let refused = format!("compare {} {}", folder.display(), other.display());
    thrashlab(&fixture, &refused).expect(2, &["cpuload version 1", "cpuload version 9"]);
}

#[test]
fn a_file_is_imported_by_its_looks() {
    let fixture = Fixture::new();
    let csv = "system,trial,loops\nold,1,5\nnew,1,7\n";
    fs::write(fixture.path().join("times.csv"), csv).unwrap();
    let found = thrashlab(&fixture, "import times.csv --response loops --json");
    found.expect(0, &[]);
    let set: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(set["factors"][0]["levels"], serde_json::json!(["old", "new"]));
    let table = thrashlab(&fixture, "import reference:multics/experiment4");
    table.expect(0, &[]);
    assert!(table.sentences().contains("17.11, 18.9, 18.11"), "{}", table.stdout);
}
