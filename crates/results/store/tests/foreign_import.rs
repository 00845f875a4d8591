//! Results of other programs: what is taken, with what meaning, and what is refused, with where
//! and why.
//!
//! The samples in `foreign/` are genuine: `hyperfine.json` of hyperfine 1.15.0 (`-N --runs 6`,
//! two commands), `go.txt` of `go test -bench . -count 4` (Go 1.26.8), `google.json` of a program
//! with libbenchmark of Debian 12 (`--benchmark_repetitions=4 --benchmark_format=json`), one
//! benchmark of which ends in an error.

use analysis::Dataset;
use formats::{Format, Options, dataset};
use model::Observation;
use store::reference;

fn read(text: &str) -> Dataset {
    dataset("test", text, None, &Options::default()).expect("it reads")
}

fn refused(text: &str) -> String {
    dataset("test", text, None, &Options::default()).expect_err("it is refused").to_string()
}

fn published(name: &str) -> Dataset {
    read(reference::find(name).expect("it is there").text)
}

/// All values of a response of the whole at these levels.
fn figures(set: &Dataset, response: &str, levels: &[(&str, &str)]) -> Vec<f64> {
    set.trials
        .iter()
        .filter(|trial| levels.iter().all(|(name, level)| trial.levels[*name] == *level))
        .filter_map(|trial| trial.samples(None, response))
        .flatten()
        .map(|it| it.value)
        .collect()
}

#[test]
fn the_tables_of_1973_read() {
    let first = published("multics/experiment1");
    assert_eq!(first.factors.len(), 1);
    assert_eq!(first.factors[0].levels, ["17.11", "18.9"]);
    assert_eq!(figures(&first, "cpu_s", &[("system", "17.11")]), [128.0, 137.0, 131.0, 137.0]);
    assert_eq!(figures(&first, "cpu_s", &[("system", "18.9")]), [212.0, 191.0, 194.0]);
    assert!(first.responses["cpu_s"].additive && first.notes.is_empty(), "{:?}", first.notes);

    let second = published("multics/experiment2");
    assert!(
        second.notes.iter().any(|note| note.contains("cpu_s in line 12")),
        "{:?}",
        second.notes
    );

    let third = published("multics/experiment3");
    assert_eq!((third.factors.len(), third.trials.len()), (1, 4), "rows of a trial are one trial");
    let trial = &third.trials[0];
    assert_eq!(
        trial.samples(Some("pl1 list"), "page_faults"),
        Some([Observation::exact(6622.0)].as_slice())
    );
    assert_eq!(figures(&third, "page_faults", &[("system", "17.11")]), [14912.0, 14668.0]);

    let fourth = published("multics/experiment4");
    let factors: Vec<(&str, usize)> =
        fourth.factors.iter().map(|factor| (factor.name.as_str(), factor.levels.len())).collect();
    assert_eq!(factors, [("pl1_version", 2), ("system", 3)]);
    assert_eq!(fourth.trials.len(), 18);
}

#[test]
fn the_ghost_of_a_row_is_refused() {
    let fourth = reference::find("multics/experiment4").expect("it is there").text;
    let ghost = "one,17.11,4,1921\none,18.9,4,2452\none,18.11,4,2330\n";
    let text = format!("{fourth}{ghost}");
    let error = refused(&text);
    assert!(error.starts_with("line 20: the trial that begins here repeats the one of line 2"));
    assert!(error.contains("1921, 2330, 2452"), "{error}");
    let options = Options { allow_repeats: true, ..Options::default() };
    let taken = dataset("test", &text, None, &options).expect("it was requested");
    assert_eq!(taken.trials.len(), 21);

    // The heading row of the scan itself.
    let scanned = "version,1001,0 1: 5 0,2770\none,1921,2452,2330\n";
    assert!(refused(scanned).starts_with("line 1, column 2: the heading is the number \"1001\""));
    let cell = fourth.replace("6785", "0 1: 5 0");
    assert_eq!(
        refused(&cell),
        "line 14, column 4 (page_faults): \"0 1: 5 0\" is not a number, which page_faults must \
         be; leave a cell empty that was not published"
    );
    // Without a column of trials the rows of equal levels are counted.
    let twice = "system,cpu_s\na,128.1\nb,212.3\na,128.1\nb,212.3\n";
    assert!(
        refused(twice).starts_with("line 4: the trial that begins here repeats the one of line 2")
    );
    let by_chance = "system,cpu_s\na,1\nb,2\na,1\nb,2\n";
    assert_eq!(read(by_chance).trials.len(), 4, "so few digits coincide");
    // One stray row.
    let stray = format!("{fourth}one,17.11,4,1900\n");
    let notes = read(&stray).notes;
    assert!(notes[0].contains("pl1_version one, system 17.11 has 4 trials, all others 3"));
    let level = format!("{fourth}one,18.12,1,1900\n");
    assert!(read(&level).notes[0].contains("system \"18.12\" has one trial"));
}

#[test]
fn what_is_no_table_is_refused_with_its_place() {
    let cases = [
        ("a,b_s\nx,1,2\n", "line 2: 3 cells, where the heading has 2"),
        ("a,b_s\n", "a heading row and no other"),
        ("a,a,b_s\nx,x,1\n", "line 1, column 2: a second column \"a\""),
        ("a,b\nx,1\n", "line 1: no column was measured"),
        ("a,trial,b_s\nx,1,1\nx,1,2\n", "line 3: a second row of trial 1"),
        ("a,block,b_s\nx,one,1\n", "line 2, column 2 (block): \"one\" is not a whole number"),
        ("a,b_s\n,1\n", "line 2, column 1 (a): an empty cell"),
        ("a,b_s\nx,inf\n", "line 2, column 2 (b_s): \"inf\" is not a number"),
        ("a,,b_s\nx,y,1\n", "line 1, column 2: the heading has no name here"),
        ("{\"results\": 1}", "line 1, column 13"),
        ("{\"results\": []}", "\"results\" is empty"),
        ("{\"results\": [{\"command\": \"a\"}]}", "result 1, \"a\": neither times nor a mean"),
        ("{\"results\": [{\"command\": \"a\", \"times\": [-1]}]}", "result 1, \"a\": a time is -1"),
        ("{\"x\": 1}", "JSON with neither"),
        ("BenchmarkA-2 10 1 ns/op 5\n", "line 1 (BenchmarkA-2: \"5\" has no unit after it)"),
        ("nothing at all\n", "neither resp1 output"),
        ("Starting 1 CPU run\n noload 1 2\n", "line 2: row \"noload\" has 2 numbers"),
    ];
    for (text, expected) in cases {
        let error = refused(text);
        assert!(error.contains(expected), "{text:?}: {error}");
    }
}

#[test]
fn names_of_columns_can_be_overruled() {
    let text = "size_bytes,loops\n10,5\n20,7\n";
    let options = Options {
        responses: vec!["loops".to_owned()],
        factors: vec!["size_bytes".to_owned()],
        allow_repeats: false,
    };
    let set = dataset("test", text, Format::named("csv"), &options).expect("it reads");
    assert_eq!(set.factors[0].levels, ["10", "20"]);
    assert_eq!(figures(&set, "loops", &[]), [5.0, 7.0]);
    let options = Options { responses: vec!["nosuch".to_owned()], ..Options::default() };
    let error = dataset("test", text, None, &options).expect_err("no such column").to_string();
    assert_eq!(error, "line 1: no column \"nosuch\"; choose from size_bytes, loops");
}

#[test]
fn hyperfine_reads() {
    let set = read(include_str!("foreign/hyperfine.json"));
    assert_eq!(set.factors[0].levels, ["sleep 0.01", "sleep 0.02"]);
    let times = figures(&set, "elapsed_s", &[("command", "sleep 0.02")]);
    assert_eq!((times.len(), times[0]), (6, 0.021_116_794));
    assert_eq!(figures(&set, "user_s", &[("command", "sleep 0.01")]), [0.000_181_5]);
    let failed = r#"{"results": [{"command": "a", "times": [1, 2], "exit_codes": [0, 3],
        "parameters": {"n": "1"}}, {"command": "b", "mean": 1, "parameters": {"n": "2"}}]}"#;
    let set = read(failed);
    assert_eq!((set.factors[0].name.as_str(), set.factors.len()), ("n", 1));
    assert_eq!(set.trials[1].remark().as_deref(), Some("the command failed: exit code 3"));
    assert!(set.notes.iter().any(|note| note.contains("its mean is used as one")));
}

#[test]
fn go_benchmarks_read() {
    let set = read(include_str!("foreign/go.txt"));
    assert_eq!(set.factors[0].levels, ["Sort/size=1k", "Sort/size=10k"]);
    let small = [("benchmark", "Sort/size=1k")];
    assert_eq!(figures(&set, "ns/op", &small), [14551.0, 14344.0, 14387.0, 14554.0]);
    assert!(set.responses["MB/s"].more_is_better() && !set.responses["B/op"].more_is_better());
    let environment = &set.trials[0].environment;
    assert_eq!((&*environment["cpu_model"], &*environment["procs"]), ("AMD EPYC", "2"));
    let set = read("BenchmarkA 1 5 ns/op\nBenchmarkA-4 1 3 ns/op\n--- FAIL: BenchmarkB\n");
    assert_eq!(set.factors[1].levels, ["1", "4"]);
    assert_eq!(set.trials[2].remark().unwrap(), "the command failed: go test reports FAIL of B");
    let set = read("BenchmarkA-2 10 1 ns/op\nBenchmarkB-2 x 1 ns/op\nnoise\n");
    let broken = "1 broken row left out: line 2 (BenchmarkB-2: \"x\" is not a count of iterations)";
    assert!(set.notes.iter().any(|note| note == broken), "{:?}", set.notes);
    assert!(set.notes.iter().any(|note| note == "no results and not read: lines 3"));
}

#[test]
fn google_benchmark_reads() {
    let set = read(include_str!("foreign/google.json"));
    assert_eq!(set.factors[0].levels, ["BM_Sum/1024", "BM_Sum/8192", "BM_Err"]);
    assert_eq!(figures(&set, "cpu_ns", &[("benchmark", "BM_Sum/1024")]).len(), 4);
    assert!(set.responses["bytes_per_second"].more_is_better());
    let failed = set.trials.iter().filter(|trial| trial.failed() == Some(true)).count();
    assert_eq!(failed, 4);
    assert_eq!(set.trials[0].environment["cpus_online"], "2");
    assert!(set.trials[0].started_unix_ns.is_some());
    assert!(set.notes.iter().any(|note| note.contains("8 aggregates")), "{:?}", set.notes);
}

#[test]
fn resp1_output_reads_and_says_what_it_lacks() {
    let set = published("resp1/2.4.20");
    assert_eq!(set.factors[0].levels.len(), 7);
    assert_eq!(figures(&set, "median_ms", &[("load", "noload")]), [233.232]);
    assert_eq!(figures(&set, "delay_ms", &[("load", "noload")]).len(), 5);
    assert_eq!(figures(&set, "delay_ms", &[("load", "smallwrite")]), [458.907]);
    assert!(set.notes[0].contains("noload 231.567 ± 1.66"), "{:?}", set.notes);
    assert!(set.notes[1].contains("not recovered"), "{:?}", set.notes);
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(.{0,30}\n){0,6}") {
        for format in Format::ALL {
            let _ = dataset("test", &text, Some(format), &Options::default());
        }
    }

    #[test]
    fn any_cells_are_read_or_refused(
        cells in proptest::collection::vec("[0-9a-z. ]{0,4}", 12),
    ) {
        let rows: Vec<String> = cells.chunks(4).map(|row| row.join(",")).collect();
        let text = format!("system,trial,command,cpu_s\n{}\n", rows.join("\n"));
        if let Ok(set) = dataset("test", &text, None, &Options::default()) {
            let values = set.trials.iter().flat_map(|trial| &trial.values);
            let parts = values.filter(|values| values.part.is_some());
            let numbers = rows.iter().filter(|row| !row.ends_with(',')).count();
            proptest::prop_assert!(parts.count() <= numbers);
        }
    }
}
