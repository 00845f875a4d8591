//! `thrashlab run --job vmtest` and `--job touch`: passes are as requested, all of it is in
//! the run file, and nothing is left, whoever is killed.

use std::collections::{BTreeMap, BTreeSet};

use model::{EndStatus, Line, PassRecord, Run};
use rustix::process::Signal;

use crate::left::{assert_nothing_left, child_of, processes, queue_keys};
use crate::support::{Fixture, Running, sandbox_works, send};

const NAME: &str = "001-noload";
const MEASURING: &str = "\"phase\":\"measuring\"";

/// Jobs that work until they are killed.
const ENDLESS: [&str; 4] = [
    "--job vmtest --set loops=1000000000",
    "--job touch --set footprint=4M --set processes=2 --set time=60m",
    "--job touch --set footprint=4M --set backing=file --set pattern=uniform --set time=60m",
    "--job touch --set footprint=4M --set backing=shm --set pattern=chase --set time=60m",
];

fn subjects() -> &'static [&'static str] {
    if sandbox_works() { &["host:mem=64M", "sandbox:mem=64M"] } else { &["host:mem=64M"] }
}

fn passes(run: &Run) -> Vec<&PassRecord> {
    let passes = run.lines.iter().filter_map(|line| match line {
        Line::Pass(pass) => Some(pass.as_ref()),
        _ => None,
    });
    passes.collect()
}

fn notes(run: &Run) -> Vec<&str> {
    run.lines.iter().filter_map(Line::note).collect()
}

/// A run of a job to its end, and its file.
fn finished(subject: &str, arguments: &str) -> Run {
    let fixture = Fixture::new();
    let running = fixture.start(fixture.run_on(subject, arguments));
    let (pid, queues) = (running.pid(), BTreeSet::new());
    let finished = running.wait();
    finished.expect(0, &[]);
    assert_nothing_left(&fixture, pid, &queues);
    let run = fixture.run_file(NAME);
    assert_eq!((run.status(), run.checksum_ok), (EndStatus::Complete, Some(true)), "{arguments}");
    run
}

fn touches(passes: &[&PassRecord]) -> u64 {
    passes.iter().map(|pass| pass.usage["touches"]).sum()
}

/// There are counters before the first pass and after each, and every pass states what it used.
fn assert_whole(run: &Run, also: &[&str]) {
    let mut before_is_counters = false;
    let mut last_ns = 0;
    for (index, line) in run.lines.iter().enumerate() {
        if let Line::Pass(pass) = line {
            let after = run.lines.get(index + 1);
            assert!(matches!(after, Some(Line::Counters(_))), "after pass {}", pass.pass);
            assert!(before_is_counters || pass.pass > 0, "before pass {}", pass.pass);
            assert!(pass.worker == 0 && pass.started_ns >= last_ns, "{pass:?}");
            assert!(pass.completed_ns > pass.started_ns, "{pass:?}");
            last_ns = pass.completed_ns;
            let names = ["touches", "user_ns", "system_ns", "minor_faults", "major_faults"];
            let more = ["voluntary_switches", "involuntary_switches", "processes"];
            for name in names.iter().chain(&more).chain(also) {
                assert!(pass.usage.contains_key(*name), "{name} is not in {pass:?}");
            }
        }
        before_is_counters |= matches!(line, Line::Counters(_));
    }
    let numbers: Vec<u32> = passes(run).iter().map(|pass| pass.pass).collect();
    assert_eq!(numbers, (0..numbers.len() as u32).collect::<Vec<_>>());
    let header = run.header.as_ref().unwrap();
    let walks_are_missed = header.missed.iter().any(|missed| missed.capability == "page walks");
    for pass in passes(run) {
        let is_there = pass.usage.contains_key("page_walks");
        let lost = notes(run).iter().any(|text| text.contains("page walks"));
        assert!(is_there != walks_are_missed || lost, "{pass:?}");
    }
}

#[test]
fn every_kind_of_memory_is_touched_in_every_order() {
    for subject in subjects() {
        for backing in ["private", "shared", "file", "shm"] {
            for pattern in ["sequential", "strided", "uniform", "zipf", "chase"] {
                let access = if pattern < "s" { "read" } else { "write" };
                let run = finished(
                    subject,
                    &format!(
                        "--job touch --set footprint=1M --set processes=2 --set time=20ms \
                         --set limit=2s --set backing={backing} --set pattern={pattern} \
                         --set access={access}"
                    ),
                );
                assert_whole(&run, &["first_touches"]);
                let all = passes(&run);
                let what = format!("{backing} {pattern}: {all:?}");
                // 256 places of two processes, which have made private memory themselves. What
                // was touched between two windows is in none.
                let first: u64 = all.iter().map(|pass| pass.usage["first_touches"]).sum();
                assert_eq!(first == 0, backing == "private", "{what}");
                assert!(first <= 512 && touches(&all) > 512, "{what}");
                assert_eq!(all[all.len() - 1].usage["first_touches"], 0, "{what}");
            }
        }
    }
}

#[test]
fn fixed_work_is_done_to_the_touch() {
    for settings in ["", "--set spread=2M", "--set step=64 --set pattern=zipf", "--set think=1ms"] {
        for subject in subjects() {
            let arguments = format!(
                "--job touch --set footprint=1M --set processes=3 --set work=1000 {settings}"
            );
            let run = finished(subject, &arguments);
            assert_whole(&run, &[]);
            assert_eq!(touches(&passes(&run)), 3000, "{settings}");
            assert_eq!(notes(&run), Vec::<&str>::new());
            let first = passes(&run)[0].usage.clone();
            assert_eq!(first["processes"], 3);
            if settings.contains("think") {
                // A batch is each of 256 places once: three thoughts.
                let all = passes(&run);
                let elapsed_ns = all[all.len() - 1].completed_ns - all[0].started_ns;
                assert!(elapsed_ns >= 3_000_000, "{elapsed_ns}");
            }
        }
    }
}

#[test]
fn work_that_takes_too_long_counts_with_what_was_done() {
    let arguments = "--job touch --set footprint=1M --set work=1000000000000 --set limit=200ms";
    let run = finished("host:mem=64M", arguments);
    assert_whole(&run, &[]);
    assert!(notes(&run)[0].contains("1 of 1 processes had not finished"), "{:?}", notes(&run));
    let all = passes(&run);
    let elapsed_ns = all[all.len() - 1].completed_ns - all[0].started_ns;
    assert!((200_000_000..5_000_000_000).contains(&elapsed_ns), "{elapsed_ns}");
}

#[test]
fn a_round_of_vmtest_is_the_whole_program() {
    for subject in subjects() {
        let run = finished(subject, "--job vmtest --set size=6M --set loops=200 --set time=1ms");
        assert_whole(&run, &["loops"]);
        for pass in passes(&run) {
            // Three processes, 512 pages each.
            assert_eq!(pass.usage["touches"], 3 * 200 * 512);
            assert_eq!((pass.usage["processes"], pass.usage["loops"]), (3, 200));
            assert!(pass.usage["voluntary_switches"] >= 1, "the parent sleeps: {pass:?}");
        }
    }
}

#[test]
fn calibrated_loops_take_about_the_time() {
    // Long enough to be a round and short enough to have several.
    let run = finished("host:mem=64M", "--job vmtest --set size=4M --set time=300ms");
    assert_whole(&run, &["loops"]);
    let header = run.header.as_ref().unwrap();
    let model::Measure::Memory(job) = &header.spec.measure else { panic!("no job") };
    assert_eq!(job.params["loops"], 0, "the header has the request");
    let rounds = passes(&run);
    let loops = rounds[0].usage["loops"];
    assert!(loops > 1 && rounds.iter().all(|pass| pass.usage["loops"] == loops));
    let fastest_ns = rounds.iter().map(|pass| pass.completed_ns - pass.started_ns).min().unwrap();
    // Other tests take their share of the CPUs.
    assert!((60_000_000..6_000_000_000).contains(&fastest_ns), "{fastest_ns}");
}

#[test]
fn a_round_is_cut_at_the_limit() {
    let run = finished("host:mem=64M", "--job vmtest --set loops=1000000000 --set limit=300ms");
    assert_whole(&run, &["loops"]);
    let rounds = passes(&run);
    assert_eq!(rounds.len(), 1);
    let done = rounds[0].usage["touches"];
    assert!(done > 0 && done < 8 * 1_000_000_000 * 512, "{done}");
    assert!(rounds[0].usage["user_ns"] > 0, "{rounds:?}");
    assert!(notes(&run).iter().any(|text| text.contains("round 0 was cut")), "{run:?}");
}

/// A job that has reached a text in its run file.
fn under_way(fixture: &Fixture, subject: &str, job: &str, text: &str) -> Running {
    let mut running = fixture.start(fixture.run_on(subject, job));
    fixture.await_text(&mut running, NAME, text);
    running
}

/// Agent, parent of the job and one of its processes.
fn family(fixture: &Fixture, running: &mut Running) -> BTreeMap<&'static str, u32> {
    let controller = running.pid();
    let mut found = BTreeMap::new();
    running.await_that("all processes of the job", || {
        found.clear();
        found.insert("controller", controller);
        let Some(agent) = child_of(fixture, controller, "observe") else { return false };
        found.insert("agent", agent);
        for parent in processes(fixture).iter().filter(|process| process.parent == agent) {
            let child = processes(fixture).into_iter().find(|process| process.parent == parent.pid);
            if let Some(child) = child {
                found.extend([("parent", parent.pid), ("process", child.pid)]);
            }
        }
        found.len() == 4
    });
    found
}

#[test]
fn whoever_is_killed_nothing_is_left() {
    for job in ENDLESS {
        for victim in ["controller", "agent", "parent", "process"] {
            for subject in subjects() {
                eprintln!("{job}: {victim} on {subject}");
                let fixture = Fixture::new();
                let mut running = under_way(&fixture, subject, job, MEASURING);
                let (pid, keys) = (running.pid(), queue_keys(&fixture));
                let family = family(&fixture, &mut running);
                send(family[victim], Signal::KILL);
                let finished = running.wait();
                assert_nothing_left(&fixture, pid, &keys);
                let run = fixture.run_file(NAME);
                assert_eq!(run.status(), EndStatus::Killed);
                if ["parent", "process"].contains(&victim) {
                    assert_eq!(run.checksum_ok, Some(true), "the agent has written the end");
                    let told = notes(&run);
                    assert!(told.iter().any(|text| text.contains("signal 9")), "{told:?}");
                }
                assert_eq!(finished.code().is_none(), victim == "controller", "{finished:?}");
            }
        }
    }
}

#[test]
fn a_controller_killed_while_the_memory_is_made_leaves_nothing() {
    for job in ENDLESS {
        let fixture = Fixture::new();
        let running = under_way(&fixture, subjects()[0], job, "\"kind\":\"header\"");
        let (pid, keys) = (running.pid(), queue_keys(&fixture));
        drop(running);
        assert_nothing_left(&fixture, pid, &keys);
    }
}

#[test]
fn a_request_to_stop_keeps_what_was_measured() {
    for job in ENDLESS {
        let fixture = Fixture::new();
        let running = under_way(&fixture, subjects()[0], job, MEASURING);
        let (pid, keys) = (running.pid(), queue_keys(&fixture));
        running.signal(Signal::INT);
        running.wait().expect(130, &[]);
        assert_nothing_left(&fixture, pid, &keys);
        let run = fixture.run_file(NAME);
        assert_eq!((run.status(), run.checksum_ok), (EndStatus::Interrupted, Some(true)));
        // The pass that was under way, and nothing else: it would have gone on for minutes.
        assert_eq!(passes(&run).len(), 1, "{job}");
        assert!(passes(&run)[0].completed_ns > passes(&run)[0].started_ns);
        let told = notes(&run);
        assert!(told.iter().any(|text| text.contains("cut short when the run ended")), "{told:?}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_way_out() {
    let fixture = Fixture::new();
    let cases: [(&str, &[&str]); 6] = [
        ("--job vmtest --set size=3M", &["not a multiple of process_size=2M", "take 2M"]),
        ("--job vmtest --set pattern=chase", &["no \"pattern\"", "switch_rate"]),
        ("--job touch --set footprint=x", &["touch.footprint", "512M"]),
        ("--job touch --set pattern=zigzag", &["zigzag", "sequential, strided"]),
        ("--job touch --set backing=file --set pages=thp", &["small pages"]),
        ("--job touch --set processes=5000", &["from 1 to 4096"]),
    ];
    for (arguments, words) in cases {
        fixture.finish(fixture.run_on("host:mem=64M", arguments)).expect(2, words);
    }
    let cases: [(&str, &[&str]); 2] = [
        ("--job touch --set footprint=1G", &["mem=64M", "--subject host:mem=1027M"]),
        ("--job vmtest --set size=8G", &["vmtest needs", "--subject host:mem="]),
    ];
    for (arguments, words) in cases {
        fixture.finish(fixture.run_on("host:mem=64M", arguments)).expect(3, words);
    }
}

#[test]
fn pages_that_cannot_be_had_are_missed_and_not_replaced() {
    let fixture = Fixture::new();
    // More than any machine sets aside.
    let arguments = "--job touch --set footprint=8T --set pages=hugetlb";
    fixture.finish(fixture.run_on("host:mem=64M", arguments)).expect(3, &["hugetlb"]);
    let run = fixture.run_file(NAME);
    assert_eq!(run.status(), EndStatus::Killed);
    let missed = &run.header.as_ref().unwrap().missed;
    assert!(missed.iter().any(|missed| missed.capability == "hugetlb pages"), "{missed:?}");
    assert!(passes(&run).is_empty());
}
