//! The tables of a session from runs with known work.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::collections::BTreeMap;

use analysis::Session;
use analysis::session::MeasureRow;
use model::{
    Command, EndStatus, Header, Line, LoadSpec, Measure, PassRecord, Run, RunEncoder, Script,
    SessionSpec, Spec, SubjectSpec, Timing, Tools, WorkRecord,
};
use render::plain_text;
use report::job_document;

const MS: u64 = 1_000_000;

fn usage(user_ms: u64, major: u64) -> model::Values {
    [
        ("user_ns", user_ms * MS),
        ("system_ns", MS),
        ("minor_faults", 100),
        ("major_faults", major),
        ("voluntary_switches", 3),
        ("involuntary_switches", 1),
        ("read_blocks", 8 * major),
        ("written_blocks", 16),
    ]
    .map(|(name, value)| (name.into(), value))
    .into()
}

fn work(worker: u32, pass: u32, item: &str, user_ms: u64, major: u64) -> Line {
    Line::Work(Box::new(WorkRecord {
        at_ns: 0,
        worker,
        pass,
        item: item.to_owned(),
        started_ns: 10 * MS,
        completed_ns: Some((12 + 2 * user_ms) * MS),
        censored_at_ns: None,
        failure: None,
        usage: usage(user_ms, major),
        ..WorkRecord::default()
    }))
}

fn pass(worker: u32, user_ms: u64) -> Line {
    Line::Pass(Box::new(PassRecord {
        at_ns: 0,
        worker,
        pass: 0,
        started_ns: 0,
        completed_ns: 900 * MS,
        usage: usage(user_ms, 0),
    }))
}

/// A script of two commands for two users.
fn script() -> Script {
    let command = |name: &str| Command {
        name: name.to_owned(),
        run: vec!["true".to_owned()],
        builtin: Vec::new(),
    };
    Script {
        name: "small".to_owned(),
        version: 2,
        users: 2,
        think_ns: 500 * MS,
        limit_ns: 1000 * MS,
        tools: Tools::System,
        variables: BTreeMap::new(),
        commands: vec![command("edit"), command("compile")],
    }
}

/// A run under a load, through its own file.
fn run(run_id: &str, load: &str, lines: Vec<Line>, status: EndStatus) -> Run {
    let header = Header {
        schema: model::SCHEMA,
        run_id: run_id.to_owned(),
        thrashlab: "0.1.0".to_owned(),
        started_unix_ns: 0,
        spec: Spec {
            subject: SubjectSpec::Host { memory_bytes: 512 << 20 },
            load: LoadSpec {
                name: load.to_owned(),
                version: 1,
                intensity: 1.0,
                params: BTreeMap::new(),
            },
            measure: Measure::Session(Box::new(SessionSpec { version: 1, script: script() })),
            timing: Timing {
                profile: "default".to_owned(),
                interval_ns: 1,
                points: 4,
                warmup_ns: 1,
                timeout_ns: 1,
            },
            sysctls: BTreeMap::new(),
            seed: 7,
            block: 0,
            order: 0,
        },
        environment: [("cpus_milli".to_owned(), "2000".to_owned())].into(),
        origins: BTreeMap::new(),
        missed: Vec::new(),
    };
    let mut encoder = RunEncoder::default();
    let mut text = encoder.line(&Line::Header(Box::new(header)));
    for line in &lines {
        text.push_str(&encoder.line(line));
    }
    text.push_str(&encoder.end(1, status));
    Run::parse(text.as_bytes()).unwrap()
}

/// Two trials without load, and one under a load in which a user did not finish.
fn runs() -> Vec<Run> {
    let quiet = |run_id: &str, more_ms: u64| {
        let lines = vec![
            work(0, 0, "edit", 10, 2),
            work(1, 0, "compile", 40 + more_ms, 4),
            work(1, 0, "edit", 20, 0),
            work(0, 0, "compile", 60, 6),
            pass(0, 80),
            work(0, 1, "edit", 8, 0),
            pass(1, 70 + more_ms),
        ];
        run(run_id, "noload", lines, EndStatus::Complete)
    };
    let failed = Line::Work(Box::new(WorkRecord {
        at_ns: 0,
        worker: 1,
        pass: 0,
        item: "compile".to_owned(),
        started_ns: 0,
        completed_ns: None,
        censored_at_ns: Some(1000 * MS),
        failure: Some("not done within the limit".to_owned()),
        usage: BTreeMap::new(),
        ..WorkRecord::default()
    }));
    let lines = vec![work(0, 0, "edit", 12, 9), failed, pass(0, 90)];
    vec![
        quiet("001-noload", 0),
        run("002-cpuload", "cpuload", lines, EndStatus::Timeout),
        quiet("003-noload", 20),
    ]
}

#[test]
fn the_measure_is_the_mean_of_the_first_passes_of_whole_runs() {
    let session = Session::from_runs(&runs(), BTreeMap::new());
    let mean_ms = |row: &MeasureRow| row.mean_ns.map(|ns| ns / MS as f64);
    // CPU time of a pass: user time and a millisecond of the system's.
    let quiet = &session.measures[0];
    assert_eq!((quiet.load.as_str(), mean_ms(quiet)), ("noload", Some(81.0)));
    let trials: Vec<f64> = quiet.runs_ns.values().map(|ns| ns / MS as f64).collect();
    assert_eq!(trials, [76.0, 86.0]);
    let loaded = &session.measures[1];
    assert_eq!((mean_ms(loaded), loaded.status), (None, EndStatus::Timeout));
    assert_eq!(session.passes.len(), 5);
}

#[test]
fn first_invocations_are_told_from_later_ones_and_failures_from_work() {
    let session = Session::from_runs(&runs(), BTreeMap::new());
    let edit = &session.commands[0];
    assert_eq!((edit.command.as_str(), edit.first.count, edit.later.count), ("edit", 4, 2));
    assert_eq!(edit.first.means["user_ns"], 15.0 * MS as f64);
    assert_eq!(edit.later.means["user_ns"], 8.0 * MS as f64);
    assert_eq!(edit.first.means["major_faults"], 1.0);
    assert_eq!(edit.by_user[&1][0].means["user_ns"], 20.0 * MS as f64);
    let compile =
        session.commands.iter().find(|row| row.load == "cpuload" && row.command == "compile");
    let first = &compile.unwrap().first;
    assert_eq!((first.count, first.failed, first.censored), (1, 1, 1));
    assert_eq!(first.wall_median_ns, Some(1000.0 * MS as f64));
    assert_eq!(first.mean(&["user_ns"]), None, "what is not known is no 0");
}

#[test]
fn the_table_tells_what_each_command_costs() {
    let runs = runs();
    let printed = |verbose: bool| {
        let skipped = [("2ctx-mem".to_owned(), "no room".to_owned())].into();
        plain_text(&job_document(&runs.iter().collect::<Vec<_>>(), skipped, verbose).unwrap())
    };
    insta::assert_snapshot!(printed(false));
    let verbose = printed(true);
    assert!(verbose.contains("\n  user 1"), "{verbose}");
}

#[test]
fn without_runs_there_is_no_measure() {
    assert!(job_document(&[], BTreeMap::new(), false).is_none());
    let mut all = runs();
    all.iter_mut().for_each(|run| run.lines.clear());
    let document = job_document(&all.iter().collect::<Vec<_>>(), BTreeMap::new(), false).unwrap();
    assert!(plain_text(&document).contains("there is no measure"));
}
