//! What figures of other programs mean: each of these inputs was once read as something else, and
//! gave a silent wrong verdict.

use std::fs;

use crate::support::{Finished, Fixture};

/// The result of a command on these files.
fn found(files: &[(&str, String)], arguments: &str) -> Finished {
    let fixture = Fixture::new();
    for (name, text) in files {
        fs::write(fixture.path().join(name), text).unwrap();
    }
    fixture.finish(fixture.thrashlab(arguments))
}

/// The row of the table of verdicts that has these words.
fn row<'a>(found: &'a Finished, words: &[&str]) -> &'a str {
    let mut rows = found.stdout.lines();
    rows.find(|row| words.iter().all(|word| row.contains(word)))
        .unwrap_or_else(|| panic!("no row with {words:?}: {}", found.stdout))
}

/// A result of the Phoronix Test Suite with its single values, which may be none.
fn result(scale: &str, values: &str) -> String {
    let value = values.split(':').next().unwrap_or_default();
    format!(
        "<Result><Identifier>local/keys-1.0</Identifier><Description>Bits: 9</Description>\
         <Scale>{scale}</Scale><Proportion>HIB</Proportion><Data><Entry><Identifier>box\
         </Identifier><Value>{value}</Value><RawString>{values}</RawString></Entry></Data></Result>"
    )
}

fn phoronix(results: &[String]) -> String {
    let system = "<System><Identifier>box</Identifier></System>";
    format!(
        "<?xml version=\"1.0\"?><PhoronixTestSuite>{system}{}</PhoronixTestSuite>",
        results.concat()
    )
}

#[test]
fn a_result_of_phoronix_keeps_its_name_whatever_failed_before_it() {
    let sign = result("sign/s", "50:51:52:53:54:55");
    let (failed, verify) = (result("sign/s", ""), result("verify/s", "900:901:902:903:904:905"));
    let files = [
        ("a.xml", phoronix(&[sign.clone(), verify.clone()])),
        ("b.xml", phoronix(&[failed, verify.clone()])),
        ("c.xml", phoronix(&[verify, sign])),
    ];
    let one = found(&files, "compare a.xml b.xml");
    one.expect(0, &[]);
    assert!(row(&one, &["outcome", "(sign/s)"]).contains("failed 1 of 1"), "{one:?}");
    assert!(row(&one, &["(verify/s)", "whole"]).contains("equivalent"), "{one:?}");
    assert!(!one.stdout.contains("improvement"), "{one:?}");
    let swapped = found(&files, "compare a.xml c.xml");
    for name in ["(sign/s)", "(verify/s)"] {
        assert!(row(&swapped, &[name, "×1.00"]).contains("equivalent"), "{swapped:?}");
    }
}

fn perf(unit: &str, factor: f64) -> String {
    let line = |value: u32| {
        let value = f64::from(value) * factor;
        format!(r#"{{"counter-value" : "{value}", "unit" : "{unit}", "event" : "task-clock"}}"#)
    };
    (100..106).map(line).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn units_of_one_dimension_are_converted_in_a_file_and_across_files() {
    let files = [("ms.json", perf("msec", 1.0)), ("ns.json", perf("ns", 1e6))];
    let one = found(&files, "compare ms.json ns.json");
    one.expect(0, &[]);
    assert!(row(&one, &["task-clock", "×1.00"]).contains("equivalent"), "{one:?}");
    let both =
        [("both.json", perf("msec", 1.0) + &perf("ns", 1e6).replace("100000000", "99000000"))];
    let shown = found(&both, "show both.json");
    shown.expect(0, &[]);
    assert!(row(&shown, &["task-clock", "less"]).contains("ns"), "{shown:?}");
    assert!(shown.stdout.contains("105000000\n"), "{shown:?}");
    let bytes = [("ms.json", perf("msec", 1.0)), ("b.json", perf("MiB", 1.0))];
    found(&bytes, "compare ms.json b.json").expect(2, &["measure different things"]);
}

fn hyperfine(command: &str, times: &[f64], codes: &str) -> String {
    let codes = vec![codes; times.len()].join(", ");
    format!(r#"{{"command": "{command}", "times": {times:?}, "exit_codes": [{codes}]}}"#)
}

fn export(results: &[String]) -> String {
    format!(r#"{{"results": [{}]}}"#, results.join(", "))
}

#[test]
fn runs_that_ended_by_a_signal_or_with_an_exit_code_failed() {
    let slow = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05];
    let fast = slow.map(|it| it / 8.0);
    for code in ["null", "139", "1"] {
        let files = [
            ("a.json", export(&[hyperfine("prog", &slow, "0")])),
            ("b.json", export(&[hyperfine("prog", &fast, code)])),
        ];
        let one = found(&files, "compare a.json b.json --fail-on regression");
        one.expect(1, &[]);
        let outcome = row(&one, &["outcome"]);
        assert!(outcome.contains("failed 6 of 6") && outcome.contains("regression"), "{one:?}");
        assert!(!one.stdout.contains("improvement"), "{one:?}");
        found(&files, "compare b.json a.json --fail-on regression").expect(0, &[]);
    }
}

#[test]
fn rows_of_one_file_are_one_session_in_json_and_in_csv() {
    let commands = (1..8).map(|at| (format!("c{at}"), f64::from(at)));
    let commands: Vec<(String, f64)> = commands.collect();
    let json = |factor: f64| {
        let one = |(name, time): &(String, f64)| hyperfine(name, &[time * factor], "0");
        export(&commands.iter().map(one).collect::<Vec<_>>())
    };
    let csv = |factor: f64| {
        let rows = commands.iter().map(|(name, time)| format!("1,{name},{}\n", time * factor));
        format!("trial,command,elapsed_s\n{}", rows.collect::<String>())
    };
    let files =
        [("a.json", json(1.0)), ("b.json", json(1.3)), ("a.csv", csv(1.0)), ("b.csv", csv(1.3))];
    for arguments in ["compare a.json b.json", "compare a.csv b.csv"] {
        let one = found(&files, &format!("{arguments} --fail-on regression"));
        one.expect(0, &[]);
        assert!(one.sentences().contains("cannot tell over all 7 cells"), "{one:?}");
        assert!(one.stderr.contains("--fail-on cannot judge all of"), "{one:?}");
        found(&files, &format!("{arguments} --fail-on regression,unclear")).expect(1, &[]);
        assert!(!one.stdout.contains("[1.30, 1.30]"), "{one:?}");
    }
    let one = found(&files, "compare a.json b.json");
    assert!(one.sentences().contains("about these sessions"), "{one:?}");
}

fn go(head: &str, values: std::ops::Range<u32>, unit: &str) -> String {
    let rows = values.map(|value| format!("BenchmarkX 1 {value} {unit}\n"));
    format!("{head}{}", rows.collect::<String>())
}

#[test]
fn the_direction_that_a_file_states_counts() {
    let higher = "Unit score better=higher\n";
    let files = [
        ("low.txt", go(higher, 100..106, "score")),
        ("high.txt", go(higher, 200..206, "score")),
        ("lower.txt", go("Unit score better=lower\n", 200..206, "score")),
        ("silent.txt", go("", 200..206, "score")),
    ];
    let one = found(&files, "compare low.txt high.txt --fail-on regression");
    one.expect(0, &[]);
    assert!(row(&one, &["score", "X"]).contains("improvement"), "{one:?}");
    let one = found(&files, "compare low.txt silent.txt");
    assert!(row(&one, &["score", "X"]).contains("improvement"), "{one:?}");
    found(&files, "compare low.txt lower.txt").expect(2, &["--higher-is-better score"]);
}

/// A file of Google Benchmark: real time, CPU time and a counter of six repetitions, a benchmark
/// that was skipped, and one that failed.
fn google(real: f64, counter: f64) -> String {
    let one = |at: usize| {
        let (real, counter) = (real + at as f64, counter + at as f64);
        format!(
            r#"{{"name": "A", "run_name": "A", "run_type": "iteration", "repetition_index": {at},
            "real_time": {real}, "cpu_time": 10{at}.5, "time_unit": "us", "depth": {counter}}}"#
        )
    };
    let rows: Vec<String> = (0..6).map(one).collect();
    let zero = r#""run_type": "iteration", "real_time": 0.0, "cpu_time": 0.0, "time_unit": "ns""#;
    format!(
        r#"{{"context": {{}}, "benchmarks": [{}, {{"name": "S", {zero}, "skipped": true,
        "skip_message": "not here"}}, {{"name": "E", {zero}, "error_occurred": true,
        "error_message": "broken"}}]}}"#,
        rows.join(", ")
    )
}

#[test]
fn a_counter_without_a_direction_differs_and_what_was_skipped_has_no_time() {
    let files = [("a.json", google(500.0, 10.0)), ("b.json", google(500.0, 90.0))];
    let command = "compare a.json b.json --response depth --fail-on regression";
    let one = found(&files, command);
    one.expect(2, &["--fail-on cannot judge depth", "--higher-is-better"]);
    assert!(row(&one, &["depth", "A", "["]).contains("difference"), "{one:?}");
    found(&files, &format!("{command} --higher-is-better depth")).expect(0, &[]);
    found(&files, &format!("{command} --lower-is-better depth")).expect(1, &[]);
    let shown = found(&files, "show a.json");
    let skipped = row(&shown, &["S, repetition 1"]);
    assert!(skipped.contains("not measured") && skipped.contains("not here"), "{shown:?}");
    assert!(!skipped.contains(" 0 "), "{shown:?}");
    assert!(row(&shown, &["E, repetition 1"]).contains("broken"), "{shown:?}");
}

#[test]
fn elapsed_time_is_compared_next_to_cpu_time() {
    let files = [("a.json", google(500.0, 1.0)), ("b.json", google(1000.0, 1.0))];
    let one = found(&files, "compare a.json b.json --fail-on regression");
    one.expect(1, &[]);
    assert!(row(&one, &["real_ns", "A", "["]).contains("regression"), "{one:?}");
    assert!(row(&one, &["cpu_ns", "A", "["]).contains("equivalent"), "{one:?}");
}

#[test]
fn benchmarks_of_two_packages_are_two() {
    let file = |first: std::ops::Range<u32>| {
        go("pkg: one\n", first, "ns/op") + &go("pkg: two\n", 9000..9006, "ns/op")
    };
    let files = [("a.txt", file(100..106)), ("b.txt", file(2100..2106))];
    let one = found(&files, "compare a.txt b.txt");
    one.expect(0, &[]);
    assert!(row(&one, &["X", "one", "[20.0"]).contains("regression"), "{one:?}");
    assert!(row(&one, &["X", "two", "[0.9997"]).contains("equivalent"), "{one:?}");
}

#[test]
fn a_table_of_delays_with_other_ratios_is_refused_by_its_heading() {
    let table = "           Test        low       high    median     average   median      avg\n\
        \x20        noload      1.000      3.000      2.000       2.000    1.000    1.000\n\
        \x20       cpuload      2.000     14.000      4.000       6.000    2.000    3.000\n";
    let files = [("m.out", table.to_owned())];
    for arguments in ["import resp1 m.out", "show m.out", "export m.out --format csv"] {
        found(&files, arguments).expect(2, &["line 1: the heading has the columns \"median avg\""]);
    }
}

#[test]
fn a_row_that_a_log_line_broke_is_named_and_the_others_are_read() {
    let text =
        "BenchmarkA-8 \t2021/03/04 10:11:12 warm\n 100\t 12 ns/op\nBenchmarkB-8 100 13 ns/op\n";
    let one = found(&[("log.txt", text.to_owned())], "compare log.txt log.txt");
    one.expect(0, &[]);
    assert!(row(&one, &["ns/op", "B"]).contains("×1.00"), "{one:?}");
    assert!(one.sentences().contains("1 broken row left out: line 1 (BenchmarkA-8"), "{one:?}");
}
