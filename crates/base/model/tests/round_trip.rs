//! Property: what is written is read back equal, and any truncation reads as a killed run.

use std::collections::BTreeMap;

use model::{
    Command, CounterSet, Delivered, EndStatus, Header, InstrumentWeight, JobSpec, Line, LoadSpec,
    Measure, MmuSpec, Name, PassRecord, Phase, PhaseRecord, ProbeSpec, Run, RunEncoder,
    SampleRecord, SandboxSpec, Script, SessionSpec, Spec, SubjectSpec, Timing, Tools, Unavailable,
    Values, Warning, WorkRecord,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

fn counters() -> impl Strategy<Value = CounterSet> {
    btree_map("[a-z_]{1,8}".prop_map(Name::from), values("[a-zA-Z_]{1,40}"), 0..3)
}

fn response() -> Measure {
    let params = BTreeMap::new();
    Measure::Probe(ProbeSpec { name: "response".to_owned(), version: 1, params })
}

fn session(text: &str) -> Measure {
    let command = Command {
        name: text.to_owned(),
        run: vec!["true".to_owned(), "{dir}".to_owned()],
        builtin: Vec::new(),
    };
    let script = Script {
        name: text.to_owned(),
        version: 2,
        users: 6,
        think_ns: 1,
        limit_ns: 2,
        tools: Tools::Builtin,
        variables: BTreeMap::from([("dir".to_owned(), text.to_owned())]),
        commands: vec![command],
    };
    Measure::Session(Box::new(SessionSpec { version: 1, script }))
}

fn job(name: &str, text: &str) -> Measure {
    let mut job = JobSpec::new(name, 3);
    job.params.insert("runs".to_owned(), 7);
    job.choices.insert("run".to_owned(), text.to_owned());
    job.into()
}

fn values(names: &'static str) -> impl Strategy<Value = Values> {
    btree_map(names.prop_map(Name::from), any::<u64>(), 0..4)
}

fn header() -> impl Strategy<Value = Header> {
    let host = prop_oneof![Just(Some(true)), Just(Some(false)), Just(None)];
    (any::<u64>(), 0.0f64..4.0, "\\PC{0,12}", any::<u64>(), host).prop_map(
        |(seed, intensity, text, memory_bytes, host)| Header {
            schema: model::SCHEMA,
            run_id: text.clone(),
            thrashlab: "0.1.0".to_owned(),
            started_unix_ns: seed,
            spec: Spec {
                subject: match host {
                    Some(true) => SubjectSpec::Host { memory_bytes },
                    Some(false) => SubjectSpec::Sandbox(SandboxSpec {
                        memory_bytes,
                        high_bytes: None,
                        cpus_milli: Some(1500),
                        processes: None,
                    }),
                    None => SubjectSpec::Mmu(Box::new(MmuSpec {
                        machine: text.clone(),
                        memory_bytes,
                        description: format!("name = {text:?}\n"),
                        asked: BTreeMap::from([("hat".to_owned(), text.clone())]),
                        settings: BTreeMap::from([("pmegs".to_owned(), "128".to_owned())]),
                    })),
                },
                load: LoadSpec {
                    name: "noload".to_owned(),
                    version: 1,
                    intensity,
                    params: BTreeMap::from([("size_bytes".to_owned(), seed)]),
                },
                measure: match (host, seed % 3) {
                    (Some(true), 0) => session(&text),
                    (Some(true), 1) => job("command", &text),
                    (Some(true), _) => job("touch", &text),
                    _ => response(),
                },
                timing: Timing {
                    profile: "quick".to_owned(),
                    interval_ns: 1,
                    points: 2,
                    warmup_ns: 3,
                    timeout_ns: 4,
                },
                sysctls: BTreeMap::from([("vm.swappiness".to_owned(), text.clone())]),
                seed,
                block: 0,
                order: 1,
            },
            environment: BTreeMap::from([("kernel".to_owned(), text.clone())]),
            origins: BTreeMap::new(),
            missed: vec![Unavailable { capability: "psi".to_owned(), reason: text }],
        },
    )
}

fn body_line() -> impl Strategy<Value = Line> {
    prop_oneof![
        any::<(u64, Option<[u32; 4]>)>().prop_map(|(at_ns, held)| {
            let instrument = held.map(|held| {
                let [processes, anonymous_bytes, file_bytes, page_table_bytes] =
                    held.map(u64::from);
                InstrumentWeight { processes, anonymous_bytes, file_bytes, page_table_bytes }
            });
            Line::Phase(PhaseRecord { at_ns, phase: Phase::Warm, instrument })
        }),
        "\\PC{0,20}".prop_map(|text| Line::Warning(Warning { at_ns: 7, text })),
        (
            any::<u64>(),
            proptest::option::of(any::<u64>()),
            "\\PC{0,12}",
            values("[a-z_]{1,8}"),
            counters(),
        )
            .prop_map(|(started_ns, completed_ns, item, usage, delays)| {
                Line::Work(Box::new(WorkRecord {
                    at_ns: 3,
                    worker: 1,
                    pass: 0,
                    failure: completed_ns.is_none().then(|| item.clone()),
                    ended: completed_ns.is_none().then_some(model::WorkEnd::AtLimit),
                    item,
                    started_ns,
                    completed_ns,
                    censored_at_ns: None,
                    figures: [("p99_ns".to_owned(), 0.1)].into(),
                    usage,
                    delays,
                }))
            }),
        (any::<u64>(), any::<u64>(), values("[a-z_]{1,8}")).prop_map(
            |(started_ns, completed_ns, usage)| {
                let (at_ns, worker, pass) = (4, 2, 1);
                let record = PassRecord { at_ns, worker, pass, started_ns, completed_ns, usage };
                Line::Pass(Box::new(record))
            }
        ),
        (any::<u64>(), any::<u64>()).prop_map(|(intended, delivered)| {
            Line::Delivered(Delivered {
                at_ns: 1,
                unit: "bytes".to_owned(),
                intended,
                delivered,
                elapsed_ns: 2,
                totals: BTreeMap::new(),
            })
        }),
        (any::<u64>(), proptest::option::of(any::<u64>()), counters(), counters()).prop_map(
            |(intended_ns, completed_ns, before, after)| {
                Line::Sample(Box::new(SampleRecord {
                    at_ns: 9,
                    index: 0,
                    intended_ns,
                    started_ns: completed_ns,
                    completed_ns,
                    censored: None,
                    censored_at_ns: None,
                    parts: BTreeMap::new(),
                    before,
                    after,
                }))
            }
        ),
    ]
}

/// The text of a whole run file.
fn encode(header: &Header, lines: &[Line]) -> String {
    let mut encoder = RunEncoder::default();
    let mut text = encoder.line(&Line::Header(Box::new(header.clone())));
    for line in lines {
        text.push_str(&encoder.line(line));
    }
    text + &encoder.end(99, EndStatus::Complete)
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(header in header(), lines in vec(body_line(), 0..6)) {
        let text = encode(&header, &lines);
        let run = Run::parse(text.as_bytes()).expect("a written run reads");
        prop_assert_eq!(run.header.as_ref(), Some(&header));
        prop_assert_eq!(&run.lines[..lines.len()], &lines[..]);
        prop_assert_eq!(run.status(), EndStatus::Complete);
        prop_assert_eq!(run.checksum_ok, Some(true));
    }

    #[test]
    fn any_truncation_reads_as_a_killed_run(
        header in header(), lines in vec(body_line(), 0..4), cut in any::<proptest::sample::Index>(),
    ) {
        let text = encode(&header, &lines);
        let cut = cut.index(text.len());
        let run = Run::parse(&text.as_bytes()[..cut]).expect("a truncated run reads");
        prop_assert_eq!(run.status(), EndStatus::Killed);
        let whole_lines = text.as_bytes()[..cut].iter().filter(|byte| **byte == b'\n').count();
        prop_assert_eq!(usize::from(run.header.is_some()) + run.lines.len(), whole_lines);
        prop_assert_eq!(run.header.is_some(), whole_lines > 0);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        let _ = Run::parse(&bytes);
    }
}

#[test]
fn a_run_begins_with_its_header() {
    let warning = r#"{"kind":"warning","at_ns":1,"text":"not a header"}"#;
    let error = Run::parse(format!("{warning}\n").as_bytes()).expect_err("no header");
    assert!(error.to_string().starts_with("line 1: "), "{error}");
}

#[test]
fn a_sample_or_a_histogram_is_a_measurement_and_a_warning_is_none() {
    let histogram = r#"{"kind":"histogram","at_ns":1,"from_ns":0,"to_ns":1,"count":0,"hdr_v2_base64":"","before":{},"after":{}}"#;
    let warning = r#"{"kind":"warning","at_ns":1,"text":"x"}"#;
    let run = |text| Run { lines: vec![Line::parse(text).expect("a line")], ..Run::default() };
    assert!(run(histogram).is_measured());
    assert!(!run(warning).is_measured());
}

#[test]
fn unknown_kinds_are_kept() {
    let text = r#"{"kind":"from-the-future","x":[1,2]}"#;
    let line = Line::parse(text).expect("an unknown kind is not an error");
    assert_eq!(line.to_json(), text);
}

#[test]
fn errors_name_line_and_field() {
    let error = Line::parse(r#"{"kind":"phase","at_ns":3}"#).expect_err("phase is missing");
    assert_eq!(error.to_string(), "bad phase line: missing field `phase`");
    let error = Line::parse(r#"{"kind":"phase""#).expect_err("cut off");
    assert!(error.to_string().starts_with("not JSON at column 15"), "{error}");
}
