//! Results of programs that measure delays and counters: cyclictest, schbench, interbench, perf.
//!
//! The samples in `foreign/` are genuine, all of 2026-11-22 from a virtual machine with two CPUs
//! and Linux 6.18 on which other work was going on: `docs/exchange.md` has the commands. Of each of
//! them and of those of `foreign_import.rs` every damage is read or refused.

use analysis::Dataset;
use analysis::comparison::{Comparison, Request, compare};
use formats::{Format, Options, dataset};
use model::Observation;
use proptest::prelude::*;

const CYCLICTEST: &str = include_str!("foreign/cyclictest.json");
const SCHBENCH: &str = include_str!("foreign/schbench.json");
const INTERBENCH: &str = include_str!("foreign/interbench.txt");
const PERF: &str = include_str!("foreign/perf-stat.json");
/// Every sample that there is, with its format.
const SAMPLES: [(&str, &str); 13] = [
    (CYCLICTEST, "cyclictest"),
    (include_str!("foreign/cyclictest-summary.json"), "cyclictest"),
    (SCHBENCH, "schbench"),
    (INTERBENCH, "interbench"),
    (include_str!("foreign/interbench-rt.txt"), "interbench"),
    (PERF, "perf"),
    (include_str!("foreign/perf-stat-repeat.json"), "perf"),
    (include_str!("foreign/perf-stat-interval.json"), "perf"),
    (include_str!("foreign/perf-stat-cpu.json"), "perf"),
    (include_str!("foreign/hyperfine.json"), "hyperfine"),
    (include_str!("foreign/go.txt"), "go"),
    (include_str!("foreign/google.json"), "google"),
    ("system,trial,cpu_s\na,1,128\na,2,137\nb,1,212\nb,2,191\n", "csv"),
];

fn read(text: &str) -> Dataset {
    dataset("test", text, None, &Options::default()).expect("it reads")
}

fn refused(text: &str) -> String {
    dataset("test", text, None, &Options::default()).expect_err("it is refused").to_string()
}

fn compared(sets: &[Dataset]) -> Comparison {
    compare(sets, &Request::default()).expect("it compares")
}

fn has_note(set: &Dataset, words: &str) {
    assert!(set.notes.iter().any(|note| note.contains(words)), "{words}: {:?}", set.notes);
}

#[test]
fn every_sample_is_known_by_its_looks() {
    for (text, format) in SAMPLES {
        assert_eq!(Format::guess(text).map(|it| it.name), Ok(format));
        let set = read(text);
        for trial in &set.trials {
            for factor in &set.factors {
                assert!(factor.levels.contains(&trial.levels[&factor.name]));
            }
            for values in &trial.values {
                assert!(set.responses.contains_key(&values.response));
            }
        }
    }
}

#[test]
fn buckets_of_cyclictest_are_delays_and_what_lies_beyond_is_a_bound() {
    let set = read(CYCLICTEST);
    let trial = &set.trials[0];
    let delays = trial.samples(None, "delay_ns").unwrap();
    assert_eq!((delays.len(), delays[0].value), (2000, 21_000.0));
    let of_parts: usize = trial
        .values
        .iter()
        .filter(|values| values.part.is_some())
        .map(|values| values.samples.len())
        .sum();
    assert_eq!(of_parts, 2000);
    // The first thread has 991 delays in the histogram of 400 µs: 9 are not, the longest of
    // which is known.
    let first = trial.values.iter().find(|it| it.part.as_deref() == Some("thread 0")).unwrap();
    assert_eq!((first.samples.len(), first.censored()), (1000, 8));
    assert_eq!(first.at_bounds()[991..], [[400_000.0; 8].as_slice(), &[7_052_000.0]].concat());
    // What cyclictest itself says is the mean is that of the exact delays: beyond the histogram
    // they are more than their bounds.
    let mean = first.at_bounds().iter().sum::<f64>() / 1000.0;
    assert!(mean > 21_000.0 && mean < 122_790.0, "{mean}");
    assert_eq!(trial.meaning["measure"], "cyclictest");
    assert_eq!(trial.environment["cyclictest_options"], "-q -t 2 -i 1000 -l 1000 -h 400");
    assert_eq!(trial.environment["kernel"], "6.18.44-fc-v669");
    assert!(trial.started_unix_ns.is_some());
    has_note(&set, "9 delays lie beyond the histogram");
    let found = compared(&[set.clone(), set]);
    assert!(
        found.cells.iter().all(|cell| cell.outcome_is_judged()),
        "{:?}",
        found.cells[0].outcome
    );
}

/// Whether a cell was tested.
trait Judged {
    fn outcome_is_judged(&self) -> bool;
}

impl Judged for analysis::comparison::Cell {
    fn outcome_is_judged(&self) -> bool {
        self.judged().is_some() || matches!(self.outcome, analysis::comparison::Outcome::Identical)
    }
}

#[test]
fn counts_of_a_long_histogram_are_not_expanded() {
    let text = r#"{"cmdline:": "cyclictest -h 90", "thread": {"0": {"histogram": {"20": 15000000,
        "30": 5000000, "60": 1000000}, "cycles": 21000000, "min": 20, "max": 60, "avg": 25.0}}}"#;
    let set = read(text);
    let delays = set.trials[0].samples(None, "delay_ns").unwrap();
    assert!(delays.len() <= 100_000, "{}", delays.len());
    let share = |value: f64| {
        let of_value = delays.iter().filter(|it| it.value == value);
        of_value.count() as f64 / delays.len() as f64
    };
    for (value, count) in [(20_000.0, 15.0), (30_000.0, 5.0), (60_000.0, 1.0)] {
        assert!((share(value) - count / 21.0).abs() < 1e-4, "{value}: {}", share(value));
    }
    has_note(&set, "21000000 delays are represented by every 210th of them in order");
}

#[test]
fn a_thread_of_few_cycles_among_many_has_a_delay_and_not_other_figures() {
    let text = r#"{"cmdline:": "cyclictest -h 90", "thread": {
        "0": {"histogram": {"20": 21000000}, "cycles": 21000000, "min": 20, "max": 20, "avg": 20.0},
        "1": {"histogram": {"30": 1, "40": 2, "80": 1}, "cycles": 4, "min": 30, "max": 80, "avg": 47.5}
    }}"#;
    let set = read(text);
    let trial = &set.trials[0];
    assert!(trial.values.iter().all(|values| values.response == "delay_ns"), "{:?}", trial.values);
    let of_few = trial.samples(Some("thread 1"), "delay_ns").unwrap();
    assert_eq!(of_few.iter().map(|it| it.value).collect::<Vec<_>>(), [40_000.0], "its median");
    let of_many = trial.samples(Some("thread 0"), "delay_ns").unwrap().len();
    assert_eq!(trial.samples(None, "delay_ns").unwrap().len(), of_many + 1);
}

#[test]
fn cyclictest_without_histogram_has_three_figures_and_no_test() {
    let set = read(include_str!("foreign/cyclictest-summary.json"));
    let trial = &set.trials[0];
    assert!(trial.samples(None, "delay_ns").is_none());
    for response in ["average_ns", "low_ns", "high_ns"] {
        assert_eq!(trial.samples(None, response).unwrap().len(), 1);
    }
    has_note(&set, "no histogram");
    let found = compared(&[set.clone(), set]);
    assert!(found.cells.iter().all(|cell| cell.judged().is_none()));
}

#[test]
fn cyclictest_that_contradicts_itself_is_refused() {
    let cases = [
        (
            "\"cycles\": 1000",
            "\"cycles\": 10",
            "the histogram holds more delays than the 10 cycles",
        ),
        (
            "\"max\": 7052",
            "\"max\": 30",
            "the longest delay is at least 400 in the histogram, but 30 in \"max\"",
        ),
        ("\"21\": ", "\"x\": ", "bucket \"x\" is not a number"),
        ("\"cycles\": 1000", "\"cycles\": 18446744073709551615", "more than 1000000000000 delays"),
        ("\"0\": {", "\"zero\": {", "thread \"zero\": its name is not a number"),
    ];
    for (from, to, expected) in cases {
        let error = refused(&CYCLICTEST.replacen(from, to, 1));
        assert!(error.contains(expected), "{error}");
    }
    let nothing = r#"{"thread": {"0": {"cycles": 0, "min": 1000000, "max": 0, "avg": 0.0}}}"#;
    assert_eq!(refused(nothing), "no thread completed a cycle");
    let mean = r#"{"thread": {"0": {"cycles": 2, "min": 5, "max": 7, "avg": 8.0}}}"#;
    assert!(refused(mean).contains("\"avg\" 8 is not between"), "{}", refused(mean));
    let cut = &CYCLICTEST[..CYCLICTEST.len() / 2];
    assert!(refused(cut).starts_with("line "), "{}", refused(cut));
}

#[test]
fn percentiles_of_schbench_stay_what_they_are() {
    let set = read(SCHBENCH);
    assert_eq!((set.trials.len(), set.factors.len()), (1, 0));
    let json: serde_json::Value = serde_json::from_str(SCHBENCH).unwrap();
    let trial = &set.trials[0];
    for (response, key) in [
        ("wakeup_latency_p99.9_us", "wakeup_latency_pct99.9"),
        ("request_latency_p50_us", "request_latency_pct50.0"),
        ("request_latency_high_us", "request_latency_max"),
        ("rps_p50_per_s", "rps_pct50.0"),
    ] {
        let expected = json["int"][key].as_f64().unwrap();
        assert_eq!(
            trial.samples(None, response),
            Some([Observation::exact(expected)].as_slice()),
            "{response}"
        );
    }
    assert!(set.responses["rps_p50_per_s"].more_is_better());
    assert_eq!(trial.environment["schbench_options"], "-m 1 -t 2 -r 10");
    has_note(&set, "tests need several files a side");
    let found = compared(&[set.clone(), set]);
    assert_eq!(found.cells.len(), 5, "what is usual, not all 21 figures");
    assert!(found.cells.iter().all(|cell| cell.judged().is_none()));
    let unknown = SCHBENCH.replace("rps_min", "rps_odd");
    assert!(refused(&unknown).contains("\"rps_odd\": neither a percentile"));
    let negative = SCHBENCH.replacen("\"rps_min\": ", "\"rps_min\": -", 1);
    assert!(refused(&negative).contains("not negative"));
}

#[test]
fn rows_of_interbench_read_and_a_log_of_two_runs_has_replicates() {
    let set = read(INTERBENCH);
    let levels: Vec<&[String]> = set.factors.iter().map(|it| it.levels.as_slice()).collect();
    assert_eq!(levels, [["Audio", "X", "Gaming"], ["None", "Burn", "Ring"]]);
    let row = &set.trials[0];
    for (response, value) in [
        ("average_ms", 44.1),
        ("sd_ms", 193.6),
        ("high_ms", 1848.0),
        ("desired_cpu_percent", 72.3),
        ("deadlines_met_percent", 70.6),
    ] {
        assert_eq!(
            row.samples(None, response),
            Some([Observation::exact(value)].as_slice()),
            "{response}"
        );
    }
    assert_eq!(row.environment["interbench_loops_per_ms"], "7583962");
    let gaming = &set.trials[6];
    assert!(gaming.samples(None, "deadlines_met_percent").is_none(), "it has no deadlines");
    has_note(&set, "its comment: two CPUs");
    has_note(&set, "what interbench 0.31 and older calls SD");
    let real_time = read(include_str!("foreign/interbench-rt.txt"));
    assert_eq!(real_time.factors[0].levels, ["Audio real time"]);
    assert!(real_time.responses.contains_key("average_us"));
    let twice =
        read(&format!("{INTERBENCH}{}", INTERBENCH.replace("193.6   1848.0", "93.6   848.0")));
    assert_eq!(twice.trials.len(), 18);
    let found = compared(&[twice.clone(), twice]);
    assert!(found.cells.iter().all(|cell| cell.first.trials == 2));
}

#[test]
fn what_interbench_never_prints_is_refused_with_its_line() {
    let cases = [
        ("None\t  44.1 +/- 193.6", "None\t  44.1 +- 193.6", "line 9: 6 words"),
        ("44.1", "x", "line 9: average_ms is \"x\""),
        ("(ms)", "(s)", "line 8: the heading names neither"),
        (" in the presence of", "", "line 7: the heading of a table lacks"),
    ];
    for (from, to, expected) in cases {
        let error = refused(&INTERBENCH.replacen(from, to, 1));
        assert!(error.starts_with(expected), "{error}");
    }
    // Wide figures have no blank between them; a deviation that is not a number was not measured.
    let wide = read(&INTERBENCH.replacen("193.6   1848.0", "123456.71234567.8", 1));
    assert_eq!(
        wide.trials[0].samples(None, "high_ms"),
        Some([Observation::exact(1_234_567.8)].as_slice())
    );
    let none = read(&INTERBENCH.replacen("193.6   1848.0", "-nan   1848.0", 1));
    assert_eq!(none.trials[0].samples(None, "sd_ms"), None);
}

#[test]
fn invocations_of_perf_are_trials_and_what_was_not_counted_is_absent() {
    let set = read(PERF);
    let clocks: Vec<f64> = set
        .trials
        .iter()
        .map(|trial| trial.samples(None, "task-clock").unwrap()[0].value)
        .collect();
    assert_eq!(clocks, [1.036_232, 0.997_702, 1.016_911, 0.969_954, 0.960_282]);
    assert_eq!(set.responses["task-clock"].unit, "msec");
    assert!(!set.responses.contains_key("cycles"), "absent, and not 0");
    has_note(&set, "cycles: not supported, in 5 lines");
    let slower = PERF.replace("\"counter-value\" : \"", "\"counter-value\" : \"9");
    let found = compared(&[set, read(&slower.replace("\"9<", "\"<"))]);
    let cell = found.cells.iter().find(|cell| cell.response == "page-faults").unwrap();
    assert_eq!(cell.verdict, stats::Verdict::Regression);
    // Without its headings it is the same, as a second count of an event begins an invocation.
    let bare: String = PERF
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(read(&bare).trials.len(), 5);
}

#[test]
fn cpus_are_parts_intervals_are_samples_and_means_are_single() {
    let cpus = read(include_str!("foreign/perf-stat-cpu.json"));
    let trial = &cpus.trials[0];
    assert_eq!(
        trial.samples(Some("cpu 0"), "page-faults"),
        Some([Observation::exact(1675.0)].as_slice())
    );
    assert_eq!(trial.samples(None, "page-faults"), Some([Observation::exact(2520.0)].as_slice()));
    let text = include_str!("foreign/perf-stat-interval.json");
    let intervals = read(text);
    let samples = intervals.trials[0].samples(None, "page-faults").unwrap();
    let values: Vec<f64> = samples.iter().map(|it| it.value).collect();
    assert_eq!(values, [240.0, 178.0, 178.0, 277.0, 429.0, 174.0]);
    has_note(&intervals, "intervals of one process");
    let cut = read(&text.replace("0.326333872", "0.296333872"));
    assert_eq!(cut.trials[0].samples(None, "page-faults"), Some(&samples[..5]));
    has_note(&cut, "ended at 0.296333872 s, is shorter than the others");
    let means = read(include_str!("foreign/perf-stat-repeat.json"));
    has_note(&means, "perf stat -r writes means");
    let shared = read(&PERF.replacen("100.00", "33.30", 1));
    has_note(&shared, "task-clock was counted in 33.3 % of the time");
}

#[test]
fn what_perf_never_writes_is_refused_with_its_line() {
    let cases = [
        ("\"1.036232\"", "\"much\"", "line 3: \"counter-value\" of \"task-clock\" is not a number"),
        ("\"unit\" : \"msec\", ", "\"unit\" : msec, ", "line 3, column "),
        ("context-switches", "page-faults", "line 5: \"page-faults\" is counted a second time"),
    ];
    for (from, to, expected) in cases {
        let error = refused(&PERF.replacen(from, to, 1));
        assert!(error.starts_with(expected), "{error}");
    }
    let none = PERF.lines().filter(|line| !line.contains("\" : \"msec\"") || line.contains("<"));
    let none: String = none.filter(|line| line.contains("cycles")).collect::<Vec<_>>().join("\n");
    assert_eq!(refused(&none), "no event was counted");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Bytes of genuine samples cut, changed, doubled: read or refused, never a panic; what is read
    /// is finite.
    #[test]
    fn damaged_samples_are_read_or_refused(
        sample in 0..SAMPLES.len(),
        at in 0.0..1.0_f64,
        length in 0..40_usize,
        put in "[-0-9.,:{}\\[\\]\"<>eE/+\t\n a-z]{0,8}",
        repeats in 0..3_usize,
    ) {
        let (text, format) = SAMPLES[sample];
        let mut chars: Vec<char> = text.chars().collect();
        let from = (at * chars.len() as f64) as usize;
        let to = (from + length).min(chars.len());
        let cut: Vec<char> = chars[from..to].to_vec();
        chars.splice(from..to, put.chars().chain(cut.repeat(repeats)));
        let damaged: String = chars.into_iter().collect();
        for format in [Format::named(format), None] {
            match dataset("test", &damaged, format, &Options::default()) {
                Ok(set) => {
                    let mut values = set.trials.iter().flat_map(|trial| &trial.values);
                    let is_sound = values.all(|it| {
                        it.samples.iter().all(|it| it.value.is_finite())
                    });
                    prop_assert!(is_sound, "{damaged}");
                }
                Err(refusal) => prop_assert!(!refusal.to_string().is_empty()),
            }
        }
    }
}
