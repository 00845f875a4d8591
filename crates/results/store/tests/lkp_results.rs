//! Results of lkp-tests: a result root, runs, and what is refused. The texts have the form of its
//! files; the figures are invented.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::fs;
use std::path::Path;

use analysis::Dataset;
use analysis::comparison::{Request, compare};
use formats::{Format, Options, dataset};
use stats::Verdict;
use store::observations::{is_foreign, observations, observations_as};

/// A matrix of six runs of a kernel.
fn matrix(commit: &str, ops: [f64; 6]) -> String {
    let sources: Vec<String> = (0..6)
        .map(|run| {
            format!(
                "/result/will-it-scale/performance-brk1/box-2c/debian-12.cgz/x86_64-config/gcc-12/\
                 {commit}/{run}/stats.json"
            )
        })
        .collect();
    let sources = serde_json::to_string(&sources).unwrap();
    format!(
        r#"{{"stats_source": {sources},
            "will-it-scale.per_process_ops": {ops:?},
            "will-it-scale.2.processes": [1, 2, 3, 4, 5, 6],
            "will-it-scale.time.elapsed_time": [9.5, 9.5, 9.5, 9.5, 9.5, 9.5],
            "will-it-scale.late_ops": [0, 0, 8, 9],
            "last_state.exit_fail": [0, 1],
            "vmstat.io.bi_per_sec": [5, 5, 5, 5, 5, 5]}}"#
    )
}

fn read(text: &str, responses: &[&str]) -> Result<Dataset, String> {
    let responses = responses.iter().map(|it| (*it).to_owned()).collect();
    let options = Options { responses, ..Options::default() };
    dataset("test", text, None, &options).map_err(|refusal| refusal.to_string())
}

fn figures(set: &Dataset, response: &str) -> Vec<Option<f64>> {
    set.trials.iter().map(|trial| Some(trial.samples(None, response)?[0].value)).collect()
}

const OLD: [f64; 6] = [900.0, 903.0, 898.0, 905.0, 901.0, 899.0];
const NEW: [f64; 6] = [700.0, 703.0, 698.0, 705.0, 701.0, 699.0];

#[test]
fn a_matrix_has_a_trial_per_run_with_the_figures_of_the_benchmark() {
    let set = read(&matrix("aaaa", OLD), &[]).unwrap();
    let responses: Vec<&String> = set.responses.keys().collect();
    assert_eq!(responses, ["will-it-scale.late_ops", "will-it-scale.per_process_ops"]);
    let ops = &set.responses["will-it-scale.per_process_ops"];
    assert!(ops.more_is_better() && ops.unit == "/s");
    let mut expected = OLD.map(Some);
    expected[1] = None;
    assert_eq!(figures(&set, "will-it-scale.per_process_ops"), expected, "one run failed");
    let late = [None, None, Some(8.0), Some(9.0), None, None];
    assert_eq!(figures(&set, "will-it-scale.late_ops"), late, "0 and nothing are not measured");
    assert!(set.notes.iter().any(|note| note.contains("late_ops: 0 in 2 runs")), "{:?}", set.notes);
    let trial = &set.trials[1];
    assert!(trial.name.ends_with("/aaaa/1") && trial.failed() == Some(true));
    assert_eq!(trial.environment["lkp_commit"], "aaaa");
    assert_eq!(trial.environment["lkp_testbox"], "box-2c");
    assert_eq!(trial.meaning["lkp_test"], "will-it-scale/performance-brk1");
    assert_eq!(set.trials[0].remark(), None);
}

#[test]
fn named_keys_are_taken_and_an_unknown_direction_is_noted() {
    let key = "will-it-scale.2.processes";
    let set = read(&matrix("a", OLD), &[key, "vmstat.io.bi_per_sec"]).unwrap();
    assert_eq!(set.responses.len(), 2);
    let unknown = format!("it is unknown whether more is better: vmstat.io.bi_per_sec, {key}");
    assert!(set.notes.contains(&unknown), "{:?}", set.notes);
    assert_eq!(read(&matrix("a", OLD), &["a.b"]).unwrap_err(), "no key is named a.b");
}

#[test]
fn two_result_roots_get_a_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let root = |name: &str, text: String| {
        let root = folder.path().join(name);
        fs::create_dir_all(root.join("0")).unwrap();
        fs::write(root.join("matrix.json"), text).unwrap();
        fs::write(root.join("avg.json"), "{}").unwrap();
        fs::write(root.join("matrix.csv"), "not read").unwrap();
        observations(&root.to_string_lossy()).unwrap()
    };
    let completed = |text: String| text.replace("[0, 1]", "[0, 0]");
    let old = root("old", completed(matrix("aaaa", OLD)));
    let sides = [old.clone(), root("new", completed(matrix("bbbb", NEW)))];
    let found = compare(&sides, &Request::default()).unwrap();
    let of = |name: &str| found.cells.iter().find(|cell| cell.response.ends_with(name)).unwrap();
    assert_eq!(of("per_process_ops").verdict, Verdict::Regression);
    let failing = matrix("cccc", OLD).replace("[0, 1]", "[1, 1, 1, 1, 1, 1]");
    let found = compare(&[old, root("failing", failing)], &Request::default()).unwrap();
    assert_eq!(found.cells[0].verdict, Verdict::Regression, "all runs failed");
    assert_eq!(found.cells[0].response, "outcome");
}

fn run(root: &Path, number: &str, ops: f64) {
    let folder = root.join(number);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("job.yaml"), "testcase: fsmark\n").unwrap();
    let text = format!(r#"{{"fsmark.files_per_sec": {ops}, "slabinfo.x.y": 3}}"#);
    fs::write(folder.join("stats.json"), text).unwrap();
}

#[test]
fn numbered_runs_without_a_matrix_are_trials_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    for (number, ops) in [("10", 3.0), ("9", 2.0), ("0", 1.0)] {
        run(folder.path(), number, ops);
    }
    assert!(is_foreign(folder.path()));
    let set = observations(&folder.path().to_string_lossy()).unwrap();
    let names: Vec<&str> = set.trials.iter().map(|trial| trial.name.as_str()).collect();
    assert_eq!(names, ["0/stats.json", "9/stats.json", "10/stats.json"]);
    assert_eq!(figures(&set, "fsmark.files_per_sec"), [Some(1.0), Some(2.0), Some(3.0)]);
    let one = folder.path().join("9");
    assert_eq!(observations(&one.to_string_lossy()).unwrap().trials.len(), 1);
    let options = Options { responses: vec!["slabinfo.x.y".to_owned()], ..Options::default() };
    let named = observations_as(&one.to_string_lossy(), None, &options).unwrap();
    assert_eq!(figures(&named, "slabinfo.x.y"), [Some(3.0)]);
}

#[test]
fn a_run_that_failed_is_a_trial_without_figures_and_others_without_figures_are_refused() {
    let failed = read(r#"{"last_state.exit_fail": 1, "vmstat.cpu.us": 4}"#, &[]).unwrap();
    assert!(failed.trials[0].values.is_empty() && failed.trials[0].failed() == Some(true));
    let error = read(r#"{"vmstat.cpu.us": 4}"#, &[]).unwrap_err();
    assert!(error.contains("only keys of monitors"), "{error}");
    let error = read(r#"{"mine.processes": 4}"#, &[]).unwrap_err();
    assert!(error.contains("it has mine.processes"), "{error}");
    let error = read(r#"{"stats_source": ["a"], "mine.x_ops": [1, 2]}"#, &[]).unwrap_err();
    assert!(error.contains("2 values") && error.contains("1 runs"), "{error}");
    let error = read(r#"{"stats_source": ["a"], "mine.x_ops": ["b"]}"#, &[]).unwrap_err();
    assert!(error.contains("\"mine.x_ops\", value 1"), "{error}");
    let error = read(r#"{"stats_source": [1], "mine.x_ops": [1]}"#, &[]).unwrap_err();
    assert!(error.contains("entry 1"), "{error}");
    let lkp = Format::named("lkp");
    let error = dataset("test", "{\n nothing", lkp, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("line 2"), "{error}");
}
