//! Whatever ends a run, every start that was due by then is in its file, and what died has its
//! cause there.

use std::time::Duration;

use model::{Censored, DeathRecord, EndStatus, Line, Run, SampleRecord, WorkRecord};
use rustix::process::Signal;

use crate::left::{assert_nothing_left, child_of, processes, queue_keys};
use crate::support::{Fixture, Running, send};

/// A probe whose interactions take no time, so that a delay is that of what was done to it.
const QUICK: &str = "--load noload --probe wake --interval 200ms --points 10";
const SAMPLED: &str = "--load noload --probe exec --interval 200ms --points 10";
const NAME: &str = "001-noload";

/// The prober: the first of the agent's children.
fn prober(fixture: &Fixture, running: &Running) -> u32 {
    let agent = child_of(fixture, running.pid(), "observe").unwrap();
    let children = processes(fixture).into_iter().filter(|process| process.parent == agent);
    children.map(|child| child.pid).min().unwrap()
}

/// A run that measures on the host, whose prober was stopped after its first line.
fn stopped(fixture: &Fixture, arguments: &str, line: &str) -> Running {
    let mut running = fixture.start(fixture.run_on("host:mem=64M", arguments));
    fixture.await_text(&mut running, NAME, line);
    send(prober(fixture, &running), Signal::STOP);
    running
}

fn deaths(run: &Run) -> Vec<&DeathRecord> {
    let deaths = run.lines.iter().filter_map(|line| match line {
        Line::Death(death) => Some(death.as_ref()),
        _ => None,
    });
    deaths.collect()
}

/// Fails unless every start from the first to the last due one has a line: the first of those that
/// were cut off, of which there must be some.
fn assert_all_due(run: &Run, why: Censored) -> Vec<&SampleRecord> {
    let samples: Vec<&SampleRecord> = run.samples().collect();
    let numbers: Vec<u32> = samples.iter().map(|sample| sample.index).collect();
    assert_eq!(numbers, (0..samples.len() as u32).collect::<Vec<_>>());
    let cut: Vec<&SampleRecord> =
        samples.into_iter().filter(|sample| sample.censored.is_some()).collect();
    assert_eq!(cut.first().and_then(|first| first.censored), Some(why), "{cut:?}");
    let ended_ns = cut[0].censored_at_ns.unwrap();
    assert!(cut.iter().all(|sample| sample.censored_at_ns == Some(ended_ns)));
    // The next start of the schedule was not due yet, or there is none.
    let last_ns = cut.last().unwrap().intended_ns;
    assert!(numbers.len() == 20 || last_ns + 200_000_000 > ended_ns, "{last_ns} {ended_ns}");
    cut
}

/// Completed wake-ups, those that were cut off, and why.
fn wake_ups(run: &Run) -> (u64, u64, Option<Censored>) {
    let mut found = (0, 0, None);
    for line in &run.lines {
        if let Line::Histogram(record) = line {
            found.0 += record.count;
            if let Some(censored) = &record.censored {
                found.1 += censored.count;
                found.2 = Some(censored.reason);
                let delays_ns = record.delays_ns().unwrap();
                assert_eq!(delays_ns.len() as u64, record.count + censored.count);
            }
        }
    }
    found
}

#[test]
fn a_timeout_leaves_no_due_start_unwritten() {
    let fixture = Fixture::new();
    let arguments = format!("{SAMPLED} --timeout 1s");
    stopped(&fixture, &arguments, "\"kind\":\"sample\"").wait().expect(0, &["Timeout"]);
    let run = fixture.run_file(NAME);
    assert_eq!((run.status(), run.checksum_ok), (EndStatus::Timeout, Some(true)));
    let cut = assert_all_due(&run, Censored::Timeout);
    assert!(cut.len() >= 5, "{cut:?}");
    assert!(cut[0].delay_ns() >= 1_000_000_000);
    assert!(cut[1..].iter().all(|sample| sample.censored == Some(Censored::RunEnded)));
    // What was under way has counters; what had not begun has none.
    assert!(!cut[0].before.is_empty() && !cut[0].after.is_empty() && cut[1].before.is_empty());
}

#[test]
fn wake_ups_that_never_come_are_all_counted() {
    let fixture = Fixture::new();
    let arguments = format!("{QUICK} --timeout 1s");
    stopped(&fixture, &arguments, "\"kind\":\"histogram\"").wait().expect(0, &["Timeout"]);
    let (completed, cut, why) = wake_ups(&fixture.run_file(NAME));
    // A wake-up every 4 ms of 20 intervals: the baseline has twice the points.
    assert_eq!((completed + cut, why), (1000, Some(Censored::Timeout)));
    assert!(cut > 0, "{completed}");
}

#[test]
fn a_request_to_stop_keeps_the_sample_that_is_stuck() {
    let fixture = Fixture::new();
    let running = stopped(&fixture, SAMPLED, "\"kind\":\"sample\"");
    std::thread::sleep(Duration::from_millis(700));
    running.signal(Signal::INT);
    running.wait().expect(130, &[]);
    let run = fixture.run_file(NAME);
    assert_eq!((run.status(), run.checksum_ok), (EndStatus::Interrupted, Some(true)));
    let cut = assert_all_due(&run, Censored::RunEnded);
    assert!(cut[0].delay_ns() >= 400_000_000, "{cut:?}");
}

#[test]
fn a_killed_or_stuck_agent_leaves_no_due_start_unwritten() {
    for signal in [Signal::KILL, Signal::STOP] {
        for arguments in [SAMPLED, QUICK] {
            let fixture = Fixture::new();
            let first = if arguments == SAMPLED { "\"sample\"" } else { "\"histogram\"" };
            let running = stopped(&fixture, arguments, first);
            std::thread::sleep(Duration::from_millis(500));
            let pid = running.pid();
            send(child_of(&fixture, pid, "observe").unwrap(), signal);
            let (status, cause) = match signal {
                Signal::KILL => (EndStatus::Killed, "SIGKILL"),
                _ => (EndStatus::Interrupted, "was stuck"),
            };
            if signal == Signal::STOP {
                running.signal(Signal::INT);
            }
            running.wait();
            assert_nothing_left(&fixture, pid, &queue_keys(&fixture));
            let run = fixture.run_file(NAME);
            assert_eq!((run.status(), run.checksum_ok), (status, Some(true)));
            assert!(deaths(&run)[0].cause.contains(cause), "{:?}", deaths(&run));
            if arguments == SAMPLED {
                let cut = assert_all_due(&run, Censored::RunEnded);
                assert!(cut[0].delay_ns() >= 300_000_000, "{cut:?}");
            } else {
                let (_, cut, why) = wake_ups(&run);
                assert!(cut >= 100 && why == Some(Censored::RunEnded), "{cut} {why:?}");
            }
        }
    }
}

#[test]
fn a_load_that_dies_leaves_no_due_start_unwritten_and_its_cause() {
    let fixture = Fixture::new();
    let arguments = "--load cpuload --probe wake --interval 200ms --points 20";
    let mut running = fixture.start(fixture.run_on("host:mem=64M", arguments));
    fixture.await_text(&mut running, "002-cpuload", "\"phase\":\"measuring\"");
    let agent = child_of(&fixture, running.pid(), "observe").unwrap();
    let mut children: Vec<u32> = processes(&fixture)
        .into_iter()
        .filter(|process| process.parent == agent)
        .map(|process| process.pid)
        .collect();
    children.sort_unstable();
    send(children[0], Signal::STOP);
    std::thread::sleep(Duration::from_millis(400));
    send(*children.last().unwrap(), Signal::KILL);
    running.wait().expect(0, &["cpuload ended as LoadDied"]);
    let run = fixture.run_file("002-cpuload");
    assert_eq!((run.status(), run.checksum_ok), (EndStatus::LoadDied, Some(true)));
    let (_, cut, why) = wake_ups(&run);
    assert!(cut >= 50 && why == Some(Censored::RunEnded), "{cut} {why:?}");
    assert!(deaths(&run)[0].cause.contains("of cpuload: ended by signal 9"), "{:?}", deaths(&run));
}

#[test]
fn a_prober_that_is_killed_has_its_cause_and_ends_the_run_at_once() {
    for arguments in [SAMPLED, QUICK] {
        let fixture = Fixture::new();
        let first = if arguments == SAMPLED { "\"sample\"" } else { "\"histogram\"" };
        let running = stopped(&fixture, arguments, first);
        std::thread::sleep(Duration::from_millis(500));
        send(prober(&fixture, &running), Signal::KILL);
        running.wait().expect(0, &["noload ended as Killed"]);
        let run = fixture.run_file(NAME);
        assert_eq!((run.status(), run.checksum_ok), (EndStatus::Killed, Some(true)));
        assert_eq!(deaths(&run)[0].cause, "the probe died: ended by signal 9");
        if arguments == SAMPLED {
            assert_all_due(&run, Censored::ProbeDied);
        } else {
            let (_, cut, why) = wake_ups(&run);
            assert!(cut >= 100 && why == Some(Censored::ProbeDied), "{cut} {why:?}");
        }
    }
}

#[test]
fn a_command_that_is_under_way_is_kept_whatever_ends_the_session() {
    for victim in ["nobody", "user"] {
        let fixture = Fixture::new();
        let script = "name = \"test\"\nusers = 1\nthink = \"1ms\"\n\
                      [[command]]\nname = \"endless\"\nrun = [\"sleep\", \"77\"]\n";
        let path = fixture.path().join("script.toml");
        std::fs::write(&path, script).unwrap();
        let arguments = format!("--job session --script {}", path.display());
        let mut running = fixture.start(fixture.run_on("host:mem=64M", &arguments));
        let sleeper = || {
            let mut all = processes(&fixture).into_iter();
            all.find(|process| process.command.starts_with("sleep 77"))
        };
        running.await_that("the command", || sleeper().is_some());
        std::thread::sleep(Duration::from_millis(300));
        let status = match victim {
            "user" => {
                send(sleeper().unwrap().parent, Signal::KILL);
                EndStatus::Killed
            }
            _ => {
                running.signal(Signal::INT);
                EndStatus::Interrupted
            }
        };
        running.wait();
        let run = fixture.run_file(NAME);
        assert_eq!((run.status(), run.checksum_ok), (status, Some(true)));
        let works: Vec<&WorkRecord> = run
            .lines
            .iter()
            .filter_map(|line| match line {
                Line::Work(work) => Some(work.as_ref()),
                _ => None,
            })
            .collect();
        let [work] = works.as_slice() else { panic!("{victim}: {works:?}") };
        assert_eq!((work.item.as_str(), work.completed_ns), ("endless", None));
        let waited_ns = work.censored_at_ns.unwrap() - work.started_ns;
        assert!((200_000_000..60_000_000_000).contains(&waited_ns), "{waited_ns}");
        if victim == "user" {
            assert!(deaths(&run)[0].cause.contains("user 0 died: ended by signal 9"));
        }
    }
}
