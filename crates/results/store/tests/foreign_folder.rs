//! Folders of another program's results: each file's trials next to the others'.
//!
//! `foreign/schbench/` is genuine: `docs/exchange.md` has the commands.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::fs;
use std::path::Path;

use analysis::comparison::{Request, compare};
use formats::Options;
use stats::Verdict;
use store::observations;
use store::observations::{is_foreign, observations_as};

const FOREIGN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign");

fn refused(folder: &Path) -> String {
    observations(&folder.to_string_lossy()).unwrap_err().to_string()
}

#[test]
fn files_of_schbench_in_a_folder_are_trials_and_two_folders_get_verdicts() {
    let sides =
        ["usual", "niced"].map(|side| observations(&format!("{FOREIGN}/schbench/{side}")).unwrap());
    for side in &sides {
        let names: Vec<&str> = side.trials.iter().map(|trial| trial.name.as_str()).collect();
        assert_eq!(names, ["1.json", "2.json", "3.json", "4.json", "5.json", "6.json"]);
        assert_eq!(side.notes.len(), 2, "each once: {:?}", side.notes);
    }
    let found = compare(&sides, &Request::default()).unwrap();
    let worse: Vec<&str> = found
        .cells
        .iter()
        .filter(|cell| cell.verdict == Verdict::Regression)
        .map(|cell| cell.response.as_str())
        .collect();
    assert_eq!(
        worse,
        [
            "request_latency_p99_us",
            "rps_p50_per_s",
            "wakeup_latency_p50_us",
            "wakeup_latency_p99_us"
        ]
    );
    // The medians of requests overlap.
    assert_eq!((found.cells.len(), found.cells[0].verdict), (5, Verdict::CannotTell));
    let equal = compare(&[sides[0].clone(), sides[0].clone()], &Request::default()).unwrap();
    assert!(equal.cells.iter().all(|cell| cell.verdict != Verdict::Regression));
}

#[test]
fn trials_of_a_folder_are_named_by_file_and_in_the_order_in_which_they_were_made() {
    let folder = tempfile::tempdir().unwrap();
    let copy = |from: &str, to: &str| {
        fs::copy(format!("{FOREIGN}/{from}"), folder.path().join(to)).unwrap();
    };
    copy("schbench/usual/2.json", "a.json");
    copy("schbench/usual/1.json", "b.json");
    copy("interbench.txt", ".hidden");
    assert!(is_foreign(folder.path()));
    let set = observations(&folder.path().to_string_lossy()).unwrap();
    let names: Vec<&str> = set.trials.iter().map(|trial| trial.name.as_str()).collect();
    assert_eq!(names, ["b.json", "a.json"]);
    let two = tempfile::tempdir().unwrap();
    let export = fs::read_to_string(format!("{FOREIGN}/hyperfine.json")).unwrap();
    fs::write(two.path().join("one.json"), &export).unwrap();
    let other = export.replace("\"command\": \"sleep 0.01\"", "\"command\": \"sleep 7\"");
    assert_ne!(other, export);
    fs::write(two.path().join("two.json"), other).unwrap();
    let set = observations(&two.path().to_string_lossy()).unwrap();
    assert_eq!(set.factors.len(), 1);
    assert!(set.factors[0].levels.iter().any(|level| level == "sleep 0.01"));
    assert!(set.factors[0].levels.iter().any(|level| level == "sleep 7"));
    assert!(set.trials.iter().any(|trial| trial.name == "two.json: result 1, run 1"));
}

#[test]
fn files_that_do_not_go_together_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let copy = |from: &str, to: &str| {
        fs::copy(format!("{FOREIGN}/{from}"), folder.path().join(to)).unwrap();
    };
    assert!(refused(folder.path()).contains("no run file"), "an empty folder");
    fs::write(folder.path().join("1.json"), "a page\n").unwrap();
    let error = refused(folder.path());
    assert!(error.contains("/1.json: neither resp1 output"), "{error}");
    assert!(error.contains("no run file"), "{error}");
    copy("schbench/usual/1.json", "1.json");
    copy("schbench/usual/1.json", "again.json");
    let error = refused(folder.path());
    assert!(error.contains("/again.json: a copy of 1.json"), "{error}");
    let options = Options { allow_repeats: true, ..Options::default() };
    let name = folder.path().to_string_lossy();
    assert_eq!(observations_as(&name, None, &options).unwrap().trials.len(), 2);
    copy("cyclictest.json", "again.json");
    let error = refused(folder.path());
    assert!(error.contains("/again.json: is of cyclictest, but 1.json of schbench"), "{error}");
    fs::write(folder.path().join("again.json"), "{\"int\": 7").unwrap();
    let error = refused(folder.path());
    assert!(error.contains("/again.json: line 1, column"), "{error}");
    fs::write(folder.path().join("experiment.json"), "{}").unwrap();
    assert!(!is_foreign(folder.path()), "an experiment without runs");
    for (text, file) in
        [("a,trial,cpu_s\nx,1,128\n", "1.json"), ("b,trial,cpu_s\ny,1,7\n", "2.json")]
    {
        fs::remove_file(folder.path().join("again.json")).ok();
        fs::remove_file(folder.path().join("experiment.json")).ok();
        fs::write(folder.path().join(file), text).unwrap();
    }
    let error = refused(folder.path());
    assert!(error.contains("/2.json: it varies [\"b\"], the files before it [\"a\"]"), "{error}");
    fs::write(folder.path().join("2.json"), "a,trial,cpu_s\nx,2,7\n").unwrap();
    assert_eq!(observations(&name).unwrap().trials.len(), 2);
}
