//! The responsiveness matrix from made-up runs: what is counted, and how it reads.

use std::collections::BTreeMap;

use analysis::responsiveness::{Claim, Matrix};
use formats::resp1::{printed, resp1_table, verbose_lines};
use model::{
    Censored, CounterSet, Delivered, End, EndStatus, Header, Line, LoadSpec, Measure, Phase,
    PhaseRecord, ProbeSpec, Run, SampleRecord, SandboxSpec, Spec, SubjectSpec, Timing, Warning,
    histogram,
};
use render::plain_text;
use report::matrix_document;

fn header(load: &str) -> Header {
    Header {
        schema: model::SCHEMA,
        run_id: load.to_owned(),
        thrashlab: "0.1.0".to_owned(),
        started_unix_ns: 0,
        spec: Spec {
            subject: SubjectSpec::Sandbox(SandboxSpec {
                memory_bytes: 256 << 20,
                high_bytes: None,
                cpus_milli: None,
                processes: None,
            }),
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
                interval_ns: 700_000_000,
                points: 5,
                warmup_ns: 0,
                timeout_ns: 4_000_000_000,
            },
            sysctls: BTreeMap::new(),
            seed: 1,
            block: 0,
            order: 0,
        },
        environment: [("kernel", "6.1.0"), ("cpus_milli", "2000"), ("swap_bytes", "0")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        origins: BTreeMap::new(),
        missed: Vec::new(),
    }
}

/// A run of a load with these delays in ms; a negative one is a sample that timed out.
fn run(load: &str, delays_ms: &[f64], more: Vec<Line>) -> Run {
    let samples = delays_ms.iter().enumerate().map(|(index, delay_ms)| {
        let end_ns = 1_000_000_000 + (delay_ms.abs() * 1e6) as u64;
        let done = *delay_ms >= 0.0;
        Line::Sample(Box::new(SampleRecord {
            at_ns: end_ns,
            index: index as u32,
            intended_ns: 1_000_000_000,
            started_ns: Some(1_000_000_000),
            completed_ns: done.then_some(end_ns),
            censored: (!done).then_some(Censored::Timeout),
            censored_at_ns: (!done).then_some(end_ns),
            parts: BTreeMap::new(),
            before: CounterSet::new(),
            after: CounterSet::new(),
        }))
    });
    let status = if delays_ms.iter().any(|delay_ms| *delay_ms < 0.0) {
        EndStatus::Timeout
    } else {
        EndStatus::Complete
    };
    let end = Line::End(End { at_ns: 9, status, blake3: String::new() });
    Run {
        header: Some(header(load)),
        lines: samples.chain(more).chain([end]).collect(),
        truncated_bytes: 0,
        checksum_ok: Some(true),
    }
}

fn delivered(delivered: u64, intended: u64, totals: &[(&str, u64)]) -> Line {
    Line::Delivered(Delivered {
        at_ns: 5,
        unit: "busy_ns".to_owned(),
        intended,
        delivered,
        elapsed_ns: 2_000_000_000,
        totals: totals.iter().map(|(name, amount)| ((*name).into(), *amount)).collect(),
    })
}

fn runs() -> Vec<Run> {
    vec![
        run("noload", &[10.0, 11.0, 10.5], Vec::new()),
        run(
            "smallwrite",
            &[20.0, 25.0, 200.0, 22.0, 21.0],
            vec![delivered(60, 100, &[("written_bytes", 3 << 30)])],
        ),
        run("noload", &[10.2, 10.8, 10.4], Vec::new()),
        run(
            "8ctx-mem",
            &[60.0, 70.0, -4000.0],
            vec![
                delivered(100, 100, &[("circles", 5000)]),
                Line::Phase(PhaseRecord { at_ns: 1, phase: Phase::NotWarm, instrument: None }),
                Line::Warning(Warning { at_ns: 2, text: "file pages are thrashed".to_owned() }),
            ],
        ),
        run("noload", &[10.1], Vec::new()),
        Run::default(),
    ]
}

/// The matrix as it is printed.
fn text(matrix: &Matrix) -> String {
    plain_text(&matrix_document(matrix, None, false))
}

#[test]
fn the_table_tells_what_was_measured_and_what_was_not() {
    let skipped = BTreeMap::from([("spawnload".to_owned(), "there is no shell".to_owned())]);
    insta::assert_snapshot!(text(&Matrix::from_runs(&runs(), skipped)));
}

#[test]
fn a_matrix_is_a_resp1_table() {
    let matrix = Matrix::from_runs(&runs(), BTreeMap::new());
    let extras = verbose_lines(&matrix);
    let second = resp1_table(&matrix, model::resp1::Resp1Format::Second, extras);
    insta::assert_snapshot!(printed(&second));
    let first = resp1_table(&matrix, model::resp1::Resp1Format::First, Vec::new());
    insta::assert_snapshot!(printed(&first));
}

#[test]
fn without_a_baseline_nothing_is_claimed() {
    let alone = Matrix::from_runs(&[run("cpuload", &[5.0, 6.0], Vec::new())], BTreeMap::new());
    assert_eq!(alone.rows[0].ratio, None);
    assert_eq!(alone.rows[0].reading, "no reference to compare with");
    assert!(Matrix::from_runs(&[], BTreeMap::new()).rows.is_empty());
}

#[test]
fn histograms_count_as_their_delays() {
    let record = model::HistogramRecord {
        at_ns: 1,
        from_ns: 0,
        to_ns: 1,
        count: 3,
        hdr_v2_base64: histogram::encode(&[0, 1000, 300_000_000]).unwrap(),
        censored: None,
        before: CounterSet::new(),
        after: CounterSet::new(),
    };
    let wake = run("noload", &[], vec![Line::Histogram(Box::new(record))]);
    let row = &Matrix::from_runs(&[wake], BTreeMap::new()).rows[0];
    assert_eq!(row.delays_ns.len(), 3);
    assert!(row.max_ns.unwrap() > 2.9e8);
}

/// Runs of these seeds, each with its own baseline of five samples around `base_ms`.
fn of_seeds(ratios: &[f64]) -> Vec<Run> {
    let mut runs = Vec::new();
    for (seed, ratio) in (1..).zip(ratios) {
        let base_ms = 10.0 + seed as f64;
        let delays = [0.98, 1.0, 1.02, 1.01, 0.99].map(|part| part * base_ms);
        for (load, by) in [("noload", 1.0), ("cpuload", *ratio)] {
            let mut one = run(load, &delays.map(|delay_ms| delay_ms * by), Vec::new());
            if let Some(header) = &mut one.header {
                header.spec.seed = seed;
                // As `run` counts them: how often the load was run so far.
                header.spec.block = if load == "noload" { 2 * seed as u32 } else { seed as u32 };
            }
            runs.push(one);
        }
    }
    runs
}

#[test]
fn with_one_seed_a_ratio_describes_that_run_and_with_several_the_seed_is_the_unit() {
    let row =
        |ratios: &[f64]| Matrix::from_runs(&of_seeds(ratios), BTreeMap::new()).rows[1].clone();
    let text = |ratios: &[f64]| text(&Matrix::from_runs(&of_seeds(ratios), BTreeMap::new()));

    let one = row(&[1.5]).ratio.unwrap();
    assert_eq!((one.claim, one.units), (Claim::ThisRun, 1));
    assert!(one.low > 1.4 && one.high < 1.6, "{one:?}");
    assert!(text(&[1.5]).contains("describe this run,"));

    // Seeds that differ by far more than the samples of each.
    let ratios = [1.2, 1.9, 1.4, 2.3, 1.6];
    let five = row(&ratios).ratio.unwrap();
    assert_eq!((five.claim, five.units), (Claim::Seeds, 5));
    let t = stats::log_ratio(&[1.0; 5], &ratios, stats::Pairing::Paired, 0.95).unwrap();
    assert!((five.ratio - t.ratio).abs() < 1e-6, "{five:?}");
    assert!((five.low - t.low).abs() < 1e-6 && (five.high - t.high).abs() < 1e-6);
    let said = text(&ratios);
    assert!(said.contains("medians of 5 seeds"), "{said}");
    assert!(said.contains("over 5 seeds)"), "{said}");
}

#[test]
fn an_interval_of_two_seeds_that_says_nothing_is_a_dash_with_how_many_would_do() {
    let matrix = Matrix::from_runs(&of_seeds(&[0.7, 2.4]), BTreeMap::new());
    let ratio = matrix.rows[1].ratio.unwrap();
    assert!(ratio.says_nothing() && ratio.needs.unwrap() > 2, "{ratio:?}");
    let text = text(&matrix);
    assert!(text.contains("– (takes about"), "{text}");
    assert!(text.contains("cannot tell: an interval takes about"), "{text}");
    assert!(!text.contains(" .. "), "{text}");
    // Slow with both seeds is slow, however little they agree.
    let matrix = Matrix::from_runs(&of_seeds(&[4.0, 60.0]), BTreeMap::new());
    assert!(matrix.rows[1].reading.starts_with("feels slow"), "{}", matrix.rows[1].reading);
}
