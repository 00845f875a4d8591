//! `thrashlab export` and `show` of other programs' results as a user sees them.

use std::fs;

use crate::support::{Finished, Fixture};

const FOREIGN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results/store/tests/foreign");

fn thrashlab(fixture: &Fixture, arguments: &str) -> Finished {
    fixture.finish(fixture.thrashlab(arguments))
}

#[test]
fn one_export_of_hyperfine_has_a_verdict() {
    let fixture = Fixture::new();
    let found = thrashlab(&fixture, &format!("compare {FOREIGN}/hyperfine.json"));
    found.expect(0, &[]);
    assert!(found.stdout.contains("×1.89  [1.88, 1.89]  regression"), "{}", found.stdout);
    let two =
        thrashlab(&fixture, &format!("compare {FOREIGN}/hyperfine.json {FOREIGN}/hyperfine.json"));
    two.expect(0, &[]);
    assert!(two.stdout.contains("equivalent"), "{}", two.stdout);
}

#[test]
fn percentiles_are_compared_without_a_verdict_and_other_tools_are_refused() {
    let fixture = Fixture::new();
    let same =
        thrashlab(&fixture, &format!("compare {FOREIGN}/schbench.json {FOREIGN}/schbench.json"));
    same.expect(0, &[]);
    assert!(
        same.sentences().contains("one figure each: no interval and no test"),
        "{}",
        same.stdout
    );
    let other = format!("compare {FOREIGN}/schbench.json {FOREIGN}/cyclictest.json");
    thrashlab(&fixture, &other).expect(2, &["schbench", "cyclictest"]);
}

#[test]
fn folders_of_another_programs_files_are_compared_shown_and_exported() {
    let fixture = Fixture::new();
    let (usual, niced) = (format!("{FOREIGN}/schbench/usual"), format!("{FOREIGN}/schbench/niced"));
    let found = thrashlab(&fixture, &format!("compare {usual} {niced} --fail-on regression"));
    found.expect(1, &[]);
    assert!(found.stdout.contains("regression"), "{}", found.stdout);
    let shown = thrashlab(&fixture, &format!("show {usual}"));
    shown.expect(0, &[]);
    assert!(shown.sentences().contains("6 trials"), "{}", shown.stdout);
    let table = thrashlab(&fixture, &format!("export {usual} --format csv"));
    table.expect(0, &[]);
    assert!(table.stdout.contains("\n6.json,"), "{}", table.stdout);
    let page = thrashlab(&fixture, &format!("report {usual} {niced} --format text -o -"));
    page.expect(0, &[]);
    assert!(page.stdout.contains("regression"), "{}", page.stdout);
}

#[test]
fn results_of_other_programs_are_shown_and_exported() {
    let fixture = Fixture::new();
    let shown = thrashlab(&fixture, &format!("show {FOREIGN}/interbench.txt"));
    shown.expect(0, &[]);
    assert!(shown.sentences().contains("Audio, X, Gaming"), "{}", shown.stdout);
    let lines = thrashlab(&fixture, &format!("export {FOREIGN}/hyperfine.json --format go"));
    lines.expect(0, &[]);
    assert!(lines.stdout.contains("\nBenchmarkTrial/command=sleep%200.01 1 11256856 ns/op\n"));
    let table = thrashlab(&fixture, &format!("export {FOREIGN}/perf-stat.json --format csv"));
    table.expect(0, &[]);
    assert!(table.stdout.contains("line 3,,,,page-faults,,0,77,0,0,,less,"), "{}", table.stdout);
}

#[test]
fn what_cannot_be_exported_says_why_and_damage_its_line() {
    let fixture = Fixture::new();
    let run = fs::read_to_string(format!("{FOREIGN}/thrashlab.run.jsonl")).unwrap();
    fs::write(fixture.path().join("a.run.jsonl"), &run).unwrap();
    let damaged = run.replacen("\"phase\":\"warm\"", "\"phase\":\"lukewarm\"", 1);
    fs::write(fixture.path().join("damaged.run.jsonl"), damaged).unwrap();
    let cases: [(&str, &[&str]); 6] = [
        ("export nowhere --format csv", &["nowhere", "No such file"]),
        ("export damaged.run.jsonl --format csv", &["damaged.run.jsonl: line 4", "lukewarm"]),
        ("export a.run.jsonl --format csv --table all", &["name a folder with -o"]),
        ("export a.run.jsonl --format go --table runs", &["--table is for --format csv"]),
        ("export a.run.jsonl --format csv --each trial", &["--each is for --format go"]),
        (
            "export reference:multics/experiment1 --format csv --table counters",
            &["is not a run file", "observations"],
        ),
    ];
    for (arguments, words) in cases {
        thrashlab(&fixture, arguments).expect(2, words);
    }
    thrashlab(&fixture, "export a.run.jsonl --format csv -o /dev/full").expect(3, &["/dev/full"]);
    let samples = thrashlab(&fixture, "export a.run.jsonl --format csv");
    samples.expect(0, &[]);
    assert_eq!(samples.stdout.lines().count(), 3, "{}", samples.stdout);
    thrashlab(&fixture, "export a.run.jsonl --format csv --table all -o tables").expect(0, &[]);
    assert_eq!(fs::read_dir(fixture.path().join("tables")).unwrap().count(), 8);
}

#[test]
fn commands_are_exported_as_hyperfine_does_and_read_again() {
    let fixture = Fixture::new();
    let timed = "run --no-report --output output --work-dir work --subject host:mem=64M --runs 4";
    let mut command = fixture.thrashlab(timed);
    command.args(["--command", "sleep 0.02", "--command", "sleep 0.1"]);
    fixture.finish(command).expect(0, &[]);
    thrashlab(&fixture, "export output --format hyperfine -o times.json").expect(0, &[]);
    let text = fs::read_to_string(fixture.path().join("times.json")).unwrap();
    let written: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(written["results"][1]["times"].as_array().unwrap().len() >= 3, "{text}");
    let found = thrashlab(&fixture, "compare times.json");
    found.expect(0, &[]);
    assert!(found.sentences().contains("sleep 0.1"), "{}", found.stdout);
    assert!(found.stdout.contains("regression"), "{}", found.stdout);
    thrashlab(&fixture, &format!("export {FOREIGN}/hyperfine.json --format hyperfine"))
        .expect(2, &["read what is to be exported"]);
}
