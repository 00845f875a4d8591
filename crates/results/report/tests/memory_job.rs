//! The table of a memory job from runs with known work.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::collections::BTreeMap;

use model::{
    CounterRecord, EndStatus, Header, JobSpec, Line, LoadSpec, Measure, PassRecord, Run,
    RunEncoder, Spec, SubjectSpec, Timing, Unavailable,
};
use render::plain_text;
use report::job_document;

const MS: u64 = 1_000_000;

fn pass(number: u32, elapsed_ns: u64) -> Line {
    let usage = [
        ("touches", 1_000_000),
        ("user_ns", elapsed_ns / 2),
        ("system_ns", elapsed_ns / 4),
        ("minor_faults", 100),
        ("major_faults", 7),
        ("processes", 8),
    ];
    Line::Pass(Box::new(PassRecord {
        at_ns: 0,
        worker: 0,
        pass: number,
        started_ns: MS,
        completed_ns: MS + elapsed_ns,
        usage: usage.map(|(name, value)| (name.into(), value)).into(),
    }))
}

fn counted(swapped: u64) -> Line {
    let counters = [("vmstat".into(), [("pswpin".into(), swapped)].into())].into();
    Line::Counters(Box::new(CounterRecord { at_ns: 0, counters }))
}

fn run(load: &str, costs_ms: &[u64], status: EndStatus) -> Run {
    let number = |name: &str, value: u64| (name.to_owned(), value);
    let header = Header {
        schema: model::SCHEMA,
        run_id: format!("1-{load}"),
        thrashlab: "0".to_owned(),
        started_unix_ns: 0,
        spec: Spec {
            subject: SubjectSpec::Host { memory_bytes: 1 << 30 },
            load: LoadSpec {
                name: load.to_owned(),
                version: 1,
                intensity: 1.0,
                params: BTreeMap::new(),
            },
            measure: Measure::Memory(Box::new(JobSpec {
                name: "vmtest".to_owned(),
                version: 1,
                params: [number("size", 16 << 20), number("process_size", 2 << 20)].into(),
                choices: BTreeMap::new(),
            })),
            timing: Timing {
                profile: "default".to_owned(),
                interval_ns: 1,
                points: 0,
                warmup_ns: 1,
                timeout_ns: 1,
            },
            sysctls: BTreeMap::new(),
            seed: 3,
            block: 0,
            order: 0,
        },
        environment: [("kernel".to_owned(), "6.1".to_owned())].into(),
        origins: BTreeMap::new(),
        missed: vec![Unavailable { capability: "perf".to_owned(), reason: "no PMU".to_owned() }],
    };
    let mut encoder = RunEncoder::default();
    let mut text = encoder.line(&Line::Header(Box::new(header)));
    let mut lines = vec![counted(10)];
    for (index, cost_ms) in costs_ms.iter().enumerate() {
        lines.extend([pass(index as u32, cost_ms * MS), counted(11 + index as u64)]);
    }
    for line in &lines {
        text.push_str(&encoder.line(line));
    }
    text.push_str(&encoder.end(1, status));
    Run::parse(text.as_bytes()).unwrap()
}

#[test]
fn a_row_has_the_steady_part_of_a_run() {
    let runs = [
        run("noload", &[90, 10, 10, 10, 10, 10, 10], EndStatus::Complete),
        run("cpuload", &[20, 20, 20], EndStatus::Complete),
        run("2ctx-mem", &[500], EndStatus::LoadDied),
    ];
    let skipped = [("smallwrite".into(), "no space".into())].into();
    let document = job_document(&runs.iter().collect::<Vec<_>>(), skipped, false).unwrap();
    insta::assert_snapshot!(plain_text(&document), @r"
    vmtest: host, loads sized for 1G, Linux 6.1

    16M of virtual memory, 2M a process, seed 3
    load      seed  relative speed  ns/touch  touches  elapsed s  user s  system s  faults  major  swap-ins
    noload       3            1.00     10.00  6000000      0.060   0.030     0.015     642     42         6
    cpuload      3            0.50     20.00  3000000      0.060   0.030     0.015     321     21         3
    2ctx-mem     3            0.02    500.00  1000000      0.500   0.250     0.125     107      7         1

    smallwrite skipped: no space

    All figures are of the steady state. Relative speed: to the run without load of
      the same seed. Faults: minor and major; swap-ins: pages, of the whole machine.
    2ctx-mem, seed 3: the run ended as LoadDied
    2ctx-mem, seed 3: no steady state in 1 passes, 500ms in all: the cold start is
      in the figures
    Not available here (1):

    - perf: no PMU
    ");
}
