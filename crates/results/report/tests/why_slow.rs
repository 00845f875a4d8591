//! Why slow responses were slow, from made-up runs: what the table reports and what it does not.

use std::collections::BTreeMap;

use analysis::responsiveness::Matrix;
use model::{
    CounterSet, Header, Line, LoadSpec, Measure, ProbeSpec, Run, SampleRecord, Spec, SubjectSpec,
    Timing,
};
use render::plain_text;
use report::matrix_document;

const MS: u64 = 1_000_000;

fn header(load: &str) -> Header {
    Header {
        schema: model::SCHEMA,
        run_id: format!("run of {load}"),
        thrashlab: "0.1.0".to_owned(),
        started_unix_ns: 0,
        spec: Spec {
            subject: SubjectSpec::Host { memory_bytes: 256 << 20 },
            load: LoadSpec {
                name: load.to_owned(),
                version: 1,
                intensity: 1.0,
                params: BTreeMap::new(),
            },
            measure: Measure::Probe(ProbeSpec {
                name: "response".to_owned(),
                version: 1,
                params: BTreeMap::new(),
            }),
            timing: Timing {
                profile: "quick".to_owned(),
                interval_ns: 700 * MS,
                points: 3,
                warmup_ns: 0,
                timeout_ns: 4_000 * MS,
            },
            sysctls: BTreeMap::new(),
            seed: 1,
            block: 0,
            order: 0,
        },
        environment: BTreeMap::new(),
        origins: BTreeMap::new(),
        missed: Vec::new(),
    }
}

/// Counters after a sample by source and name; before it they were 0.
type Counted<'a> = &'a [(&'a str, &'a str, u64)];

fn run(load: &str, samples: &[(u64, Counted<'_>)]) -> Run {
    let sample = |(index, (delay_ms, counted)): (usize, &(u64, Counted<'_>))| {
        let intended_ns = 1_000 * MS * (1 + index as u64);
        let (mut before, mut after) = (CounterSet::new(), CounterSet::new());
        for (source, name, amount) in *counted {
            before.entry((*source).into()).or_default().insert((*name).into(), 0);
            after.entry((*source).into()).or_default().insert((*name).into(), *amount);
        }
        let completed_ns = intended_ns + delay_ms * MS;
        Line::Sample(Box::new(SampleRecord {
            at_ns: completed_ns,
            index: index as u32,
            intended_ns,
            started_ns: Some(intended_ns),
            completed_ns: Some(completed_ns),
            censored: None,
            censored_at_ns: None,
            parts: BTreeMap::new(),
            before,
            after,
        }))
    };
    Run {
        header: Some(header(load)),
        lines: samples.iter().enumerate().map(sample).collect(),
        truncated_bytes: 0,
        checksum_ok: None,
    }
}

fn runs() -> Vec<Run> {
    let calm: Counted<'_> =
        &[("rusage", "user_ns", 9 * MS), ("rusage", "system_ns", 0), ("schedstat", "wait_ns", MS)];
    let waiting: Counted<'_> = &[
        ("rusage", "user_ns", 10 * MS),
        ("rusage", "system_ns", 2 * MS),
        ("schedstat", "wait_ns", 87 * MS),
        ("taskstats", "blkio_delay_total_ns", 0),
    ];
    let thrashing: Counted<'_> = &[
        ("rusage", "user_ns", 10 * MS),
        ("rusage", "system_ns", 30 * MS),
        ("rusage", "major_faults", 120),
        ("schedstat", "wait_ns", 40 * MS),
        ("taskstats", "blkio_delay_total_ns", 300 * MS),
        ("taskstats", "swapin_delay_total_ns", 50 * MS),
        ("taskstats", "compact_delay_total_ns", 0),
        ("taskstats", "thrashing_delay_total_ns", 200 * MS),
        ("taskstats", "freepages_delay_total_ns", 20 * MS),
        ("vmstat", "pswpin", 130),
        ("vmstat", "workingset_refault_anon", 70),
        ("vmstat", "workingset_refault_file", 30),
    ];
    vec![
        run("noload", &[(10, calm), (10, calm), (10, calm)]),
        run("cpuload", &[(100, waiting), (12, calm), (100, waiting)]),
        run("2ctx-mem", &[(400, thrashing), (11, calm), (450, thrashing)]),
    ]
}

#[test]
fn a_line_a_load_says_why_its_slow_responses_were_slow() {
    let text =
        plain_text(&matrix_document(&Matrix::from_runs(&runs(), BTreeMap::new()), None, false));
    let from = text.find("Why slow").unwrap_or_else(|| panic!("{text}"));
    let table: String = text[from..]
        .lines()
        .take_while(|line| !line.is_empty())
        .map(|line| format!("{line}\n"))
        .collect();
    insta::assert_snapshot!(table);
}

#[test]
fn the_worst_come_with_their_parts_and_counters() {
    let matrix = Matrix::from_runs(&runs(), BTreeMap::new());
    let text = plain_text(&matrix_document(&matrix, Some(1), false));
    let (_, worst) = text.split_once("Slowest responses").unwrap();
    insta::assert_snapshot!(worst);
}

#[test]
fn json_has_unknown_parts_as_null_and_keeps_the_worst_that_are_asked_for() {
    let mut matrix = Matrix::from_runs(&runs(), BTreeMap::new());
    matrix.why_slow.iter_mut().for_each(|load| load.worst.truncate(1));
    let told = serde_json::to_value(&matrix).unwrap_or_default();
    let load = &told["why_slow"][2];
    assert_eq!((&load["load"], &load["slow"]["samples"]), (&"2ctx-mem".into(), &2.into()));
    assert_eq!(load["worst"].as_array().map(Vec::len), Some(1));
    let worst = &load["worst"][0];
    assert_eq!((&worst["delay_ns"], &worst["index"]), (&(450 * MS).into(), &2.into()));
    assert!(worst["parts_ns"]["irq"].is_null() && worst["parts_ns"]["throttled"].is_null());
    assert_eq!(worst["parts_ns"]["thrashing"], 200 * MS);
}

#[test]
fn without_counters_and_without_a_reference_nothing_is_claimed() {
    let bare = |load, delay_ms| run(load, &[(delay_ms, &[]), (delay_ms, &[])]);
    let text = plain_text(&matrix_document(
        &Matrix::from_runs(&[bare("noload", 10), bare("cpuload", 90)], BTreeMap::new()),
        None,
        false,
    ));
    assert!(text.contains("is unknown: the probe has no counters"), "{text}");
    assert!(Matrix::from_runs(&[bare("cpuload", 90)], BTreeMap::new()).why_slow.is_empty());
}
