//! What names the work of a file of another program, and which values are of one session: neither
//! depends on what else is in the file.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::fs;

use analysis::Dataset;
use analysis::comparison::{Comparison, Request, Unit, compare};
use formats::mmtests::{LogFile, mmtests};
use formats::{Options, dataset};
use stats::Verdict;
use store::observations;

fn read(text: &str) -> Dataset {
    dataset("test", text, None, &Options::default()).unwrap()
}

fn compared(first: &str, second: &str) -> Comparison {
    compare(&[read(first), read(second)], &Request::default()).unwrap()
}

/// Lines of a Go benchmark around a value.
fn go(name: &str, value: f64, unit: &str) -> String {
    let lines = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(|by| value * (1.0 + by / 100.0));
    lines.map(|value| format!("Benchmark{name} 1 {value} {unit}\n")).concat()
}

fn verdicts(found: &Comparison) -> Vec<(String, Verdict)> {
    found.cells.iter().map(|cell| (cell.label(), cell.verdict)).collect()
}

#[test]
fn cpus_match_exactly_where_both_have_them_and_by_the_rest_elsewhere() {
    let (eight, four) = (go("X-8", 100.0, "ns/op"), go("X-4", 300.0, "ns/op"));
    let both = format!("{four}{eight}");
    let exact = compared(&eight, &both);
    assert_eq!(verdicts(&exact), [("X procs 8".to_owned(), Verdict::Equivalent)]);
    assert!(exact.left_out.iter().any(|it| it.contains("procs 4 alone")), "{:?}", exact.left_out);
    let rest = compared(&eight, &four);
    assert_eq!(rest.cells[0].verdict, Verdict::Regression);
    assert!(rest.notes.iter().any(|note| note.contains("numbers of CPUs (8, 4)")));
}

#[test]
fn the_most_cpus_match_where_no_number_is_in_both() {
    let (one, eight) = (go("X-1", 700.0, "ns/op"), go("X-8", 100.0, "ns/op"));
    let sixteen = go("X-16", 50.0, "ns/op");
    let (both, others) = (format!("{one}{eight}"), format!("{one}{sixteen}"));
    let cell = |procs: u32, verdict| (format!("X procs {procs}"), verdict);
    let (same, faster) = (cell(1, Verdict::Equivalent), cell(8, Verdict::Improvement));
    for (first, second, cells) in [
        (&both, &sixteen, vec![faster.clone()]),
        (&both, &others, vec![same, faster]),
        (&sixteen, &both, vec![cell(16, Verdict::Regression)]),
    ] {
        let found = compared(first, second);
        assert_eq!(verdicts(&found), cells, "{:?}", found.notes);
        let words = "they match by the rest of their names";
        assert!(found.notes.iter().any(|note| note.contains(words)), "{:?}", found.notes);
    }
}

#[test]
fn a_configuration_line_names_the_work_as_soon_as_one_file_has_two() {
    let tuned = format!("note: tuned\n{}", go("X", 100.0, "ns/op"));
    let both = format!("{tuned}note: plain\n{}", go("X", 900.0, "ns/op"));
    let found = compared(&tuned, &both);
    assert_eq!(verdicts(&found), [("X note tuned".to_owned(), Verdict::Equivalent)]);
    let mut swapped = format!("note: plain\n{}", go("X", 900.0, "ns/op"));
    swapped += &tuned;
    assert_eq!(verdicts(&compared(&both, &swapped)).len(), 2);
}

fn hyperfine(results: &[(&str, f64, &str)]) -> String {
    let one = |(command, time, parameters): &(&str, f64, &str)| {
        let times: Vec<f64> = (0..6).map(|by| time * (1.0 + f64::from(by) / 100.0)).collect();
        format!(r#"{{"command":"{command}","times":{times:?},"parameters":{{{parameters}}}}}"#)
    };
    format!("{{\"results\":[{}]}}", results.iter().map(one).collect::<Vec<_>>().join(","))
}

#[test]
fn parameters_and_commands_match_whatever_else_a_file_has() {
    let one = ("run 1", 1.0, r#""n":"1""#);
    let two = ("run 2", 2.0, r#""n":"2""#);
    let slower = ("run 1", 1.5, r#""n":"1""#);
    let found = compared(&hyperfine(&[one, two]), &hyperfine(&[("true", 0.1, ""), two, slower]));
    let expected = [
        ("run 1 n 1".to_owned(), Verdict::Regression),
        ("run 2 n 2".to_owned(), Verdict::Equivalent),
    ];
    assert_eq!(verdicts(&found), expected);
}

#[test]
fn what_has_no_partner_is_listed_with_the_nearest_candidate() {
    let first = hyperfine(&[("make check", 1.0, ""), ("make", 9.0, "")]);
    let second = hyperfine(&[("make  check", 2.0, ""), ("make", 9.0, "")]);
    let found = compared(&first, &second);
    assert_eq!(found.cells.len(), 1);
    assert!(found.left_out[0].contains("the nearest in test is"), "{:?}", found.left_out);
}

#[test]
fn files_of_a_folder_keep_their_packages_and_share_units() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    write("1.txt", format!("pkg: one\n{}", go("X", 100.0, "ns/op")));
    write("2.txt", format!("pkg: two\n{}", go("X", 9.0, "us/op")));
    let set = observations(&folder.path().to_string_lossy()).unwrap();
    let cells: Vec<(&str, f64)> = set
        .trials
        .iter()
        .map(|it| (it.levels["pkg"].as_str(), it.samples(None, "ns/op").unwrap()[0].value))
        .collect();
    assert_eq!((cells[0], cells[6]), (("one", 100.0), ("two", 9000.0)));
}

#[test]
fn several_sessions_count_by_their_medians() {
    let folder = tempfile::tempdir().unwrap();
    let side = |name: &str, values: [f64; 3]| {
        let path = folder.path().join(name);
        fs::create_dir(&path).unwrap();
        for (index, value) in values.into_iter().enumerate() {
            fs::write(path.join(format!("{index}.txt")), go("X", value, "ns/op")).unwrap();
        }
        observations(&path.to_string_lossy()).unwrap()
    };
    // Repetitions of a session agree, sessions do not.
    let sides = [side("a", [100.0, 300.0, 200.0]), side("b", [210.0, 330.0, 110.0])];
    let found = compare(&sides, &Request::default()).unwrap();
    let cell = &found.cells[0];
    assert_eq!((cell.first.values.len(), cell.second.values.len()), (3, 3));
    assert_eq!((cell.unit, cell.verdict), (Unit::Trials, Verdict::CannotTell));
    assert!(!found.one_session);
    let single = compared(&go("X", 100.0, "ns/op"), &go("X", 210.0, "ns/op"));
    assert!(single.one_session && single.conclusion.contains("about these sessions"));
    assert_eq!(single.cells[0].first.values.len(), 6);
    assert!(single.conclusion.contains("one session a side"), "{}", single.conclusion);
    let [several, _] = sides;
    let one = dataset("one", &go("X", 210.0, "ns/op"), None, &Options::default()).unwrap();
    let mixed = compare(&[several, one], &Request::default()).unwrap();
    let remark = "a side has one session only, so this is about these sessions";
    assert!(mixed.conclusion.contains(remark), "{}", mixed.conclusion);
}

#[test]
fn results_of_one_name_are_noticed() {
    let text = hyperfine(&[("make", 1.0, ""), ("make", 9.0, "")]);
    let set = dataset("test", &text, None, &Options::default()).unwrap();
    assert!(
        set.notes.iter().any(|note| note == "several results of \"make\": their runs count as one")
    );
    let once =
        dataset("test", &hyperfine(&[("make", 1.0, "")]), None, &Options::default()).unwrap();
    assert!(!once.notes.iter().any(|note| note.contains("several results")));
}

#[test]
fn lists_of_what_a_file_has_are_cut_with_a_count() {
    let columns = (0..14).map(|at| format!("r{at}_ms"));
    let head: Vec<String> = columns.collect();
    let text =
        format!("test,{}\nx,{}\nx,{}\n", head.join(","), ["1"; 14].join(","), ["2"; 14].join(","));
    let set = dataset("test", &text, None, &Options::default()).unwrap();
    let request = Request { responses: vec!["r0_ms".to_owned()], ..Request::default() };
    let found = compare(&[set.clone(), set], &request).unwrap();
    let note = found.notes.iter().find(|note| note.contains("also measured")).unwrap();
    assert!(note.ends_with("and 7 more") && !note.contains("r9_ms"), "{note}");
}

#[test]
fn an_iteration_of_mmtests_is_not_a_case() {
    let file = |name: &str, seconds: f64| LogFile {
        iteration: "iter-0".to_owned(),
        benchmark: "hackbench-process-pipes".to_owned(),
        name: name.to_owned(),
        text: format!("     Total time: {seconds} [sec]\n"),
        ..LogFile::default()
    };
    let files =
        [file("hackbench-12-1", 0.5), file("hackbench-12-2", 0.6), file("hackbench-4-1", 0.2)];
    let set = mmtests("x", &files, &[], &Options::default()).unwrap();
    assert_eq!(set.factor("case").unwrap().levels, ["4", "12"]);
    let values = set.trials.iter().map(|it| it.samples(None, "time").unwrap()[0].value);
    assert_eq!(values.collect::<Vec<_>>(), [0.2, 0.5, 0.6]);
    assert!(set.trials.iter().all(|it| it.session == set.trials[0].session));
}

#[test]
fn layouts_of_mmtests_of_2020_and_of_today_are_the_same_work() {
    let read = |benchmark: &str, files: &[(&str, &str)]| {
        let file = |(name, text): &(&str, &str)| LogFile {
            iteration: "iter-0".to_owned(),
            benchmark: benchmark.to_owned(),
            name: (*name).to_owned(),
            text: (*text).to_owned(),
            ..LogFile::default()
        };
        let files: Vec<LogFile> = files.iter().map(file).collect();
        let set = mmtests("x", &files, &[], &Options::default()).unwrap();
        let trials = set.trials.iter().map(|trial| {
            let values = trial.values.iter().map(|it| (it.response.clone(), it.samples.clone()));
            (trial.levels["case"].clone(), values.collect::<Vec<_>>())
        });
        trials.collect::<Vec<_>>()
    };
    let pipe = "     Total time: 5.1 [sec]\n\n       5.125 usecs/op\n          195121 ops/sec\n";
    let old =
        read("perfpipe", &[("pipe-1.log", pipe), ("pipe-2.log", &pipe.replace("25 u", "5 u"))]);
    let new = [("benchlog-_-_-1", pipe), ("benchlog-_-_-2", &pipe.replace("25 u", "5 u"))];
    assert_eq!(old, read("perfpipe", &new));
    assert_eq!((old.len(), old[0].1[0].0.as_str()), (2, "usecs-op"));
    let rows = "\t50.0000th: 10\n\t*99.0000th: 30\n";
    let old =
        read("schbench", &[("schbench-4.log", &format!("Latency percentiles (usec)\n{rows}"))]);
    let heading = "Wakeup Latencies percentiles (usec) runtime 5 (s) (9 total samples)";
    let rows = "\t  50.0th: 10         (5 samples)\n\t* 99.0th: 30         (4 samples)\n";
    assert_eq!(old, read("schbench", &[("schbench-4.log", &format!("{heading}\n{rows}"))]));
    assert_eq!(old[0].1[1].0, "Wakeup-99th");
    let old = "tps = 812.5 (including connections establishing)\n";
    let new = "tps = 812.5 (without initial connection time)\n";
    let [old, new] = [old, new].map(|text| read("pgbench", &[("pgbench-16.log", text)]));
    assert_eq!((&old, old[0].0.as_str()), (&new, "16"));
    let raw = "    transactions:   100  (812.50 per sec.)\n";
    let found = read("sysbench", &[("sysbench-raw-8-1", raw), ("sysbench-raw-8-2", raw)]);
    assert_eq!(found[0].0, "8");
    assert_eq!(found.len(), 2);
}

#[test]
fn directions_and_units_are_common_to_the_inputs_or_refused() {
    let first = go("X", 100.0, "score");
    let higher = format!("Unit score better=higher\n{}", go("X", 200.0, "score"));
    let found = compared(&first, &higher);
    assert_eq!(found.cells[0].verdict, Verdict::Improvement, "one file states it for both");
    let unknown = compared(&first, &go("X", 200.0, "score"));
    assert_eq!(unknown.cells[0].verdict, Verdict::Difference);
    let times = |unit: &str, value: f64| {
        let rows = (0..6).map(|by| format!("{}\n", value * (1.0 + f64::from(by) / 100.0)));
        format!(
            "elapsed_{unit},x\n{}",
            rows.map(|row| row.replace('\n', ",a\n")).collect::<String>()
        )
    };
    let found = compared(&times("s", 1.5), &times("ms", 1500.0));
    assert_eq!(found.cells[0].verdict, Verdict::Equivalent, "{}", found.conclusion);
    assert!(found.notes.iter().any(|note| note.contains("converted from ms to s")));
}
