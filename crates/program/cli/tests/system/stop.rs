//! A request to stop: everything is cleaned up, and the exit code shows it.

use std::time::Duration;

use model::EndStatus;
use rustix::process::Signal;

use crate::left::{assert_nothing_left, child_of, processes, queue_keys};
use crate::support::{Fixture, send};

/// One load for each kind of what loads hold: nothing, processes, new processes, files and their pages,
/// memory and message queues.
const KINDS: [&str; 5] = ["noload", "cpuload", "spawnload", "largewrite", "2ctx-mem"];

/// Runs under these loads end by a request in the middle of what they measure, and leave nothing.
fn stop_tidies_up_under(loads: impl Iterator<Item = &'static str>) {
    let requests = [Signal::INT, Signal::TERM, Signal::HUP];
    for (load, request) in loads.zip(requests.iter().cycle()) {
        let fixture = Fixture::new();
        let name = if load == "noload" { "001-noload" } else { &format!("002-{load}") };
        let arguments = format!("--load {load} --points 60 --interval 300ms");
        let mut running = fixture.start(fixture.run(&arguments));
        fixture.await_text(&mut running, name, "\"phase\":\"measuring\"");
        let (pid, queues) = (running.pid(), queue_keys(&fixture));
        running.signal(*request);
        running.wait().expect(130, &[]);
        assert_nothing_left(&fixture, pid, &queues);
        let run = fixture.run_file(name);
        assert_eq!((run.status(), run.checksum_ok), (EndStatus::Interrupted, Some(true)));
    }
}

#[test]
fn a_request_to_stop_tidies_up_what_loads_hold() {
    stop_tidies_up_under(KINDS.into_iter());
}

#[test]
fn every_request_to_stop_tidies_up_under_every_load() {
    stop_tidies_up_under(workloads::loads().map(|load| load.name));
}

#[test]
fn a_request_at_any_moment_of_the_start_is_heard() {
    for step in 1..20 {
        let fixture = Fixture::new();
        let mut running = fixture.start(fixture.run("--load 8ctx-mem --points 5"));
        let pid = running.pid();
        // Before the journal exists there is nothing to tidy up, and no handler yet.
        running.await_that("a journal", || fixture.state().exists());
        std::thread::sleep(Duration::from_millis(step * step));
        running.signal(Signal::INT);
        running.wait().expect(130, &[]);
        assert_nothing_left(&fixture, pid, &queue_keys(&fixture));
    }
}

#[test]
fn processes_that_are_stopped_together_were_interrupted_and_did_not_die() {
    // As `systemctl stop` does it, with the youngest first: probe and load end before the agent
    // and the controller are asked.
    let fixture = Fixture::new();
    let mut running = fixture.start(fixture.run("--load cpuload --points 60 --interval 300ms"));
    fixture.await_text(&mut running, "002-cpuload", "\"phase\":\"measuring\"");
    let (pid, queues) = (running.pid(), queue_keys(&fixture));
    let mut all: Vec<u32> = processes(&fixture).iter().map(|process| process.pid).collect();
    all.sort_unstable();
    all.iter().rev().for_each(|pid| send(*pid, Signal::TERM));
    running.wait().expect(130, &[]);
    assert_nothing_left(&fixture, pid, &queues);
    assert_eq!(fixture.run_file("002-cpuload").status(), EndStatus::Interrupted);
}

#[test]
fn an_agent_that_does_not_answer_is_not_waited_for() {
    let fixture = Fixture::new();
    let mut running = fixture.start(fixture.run("--load cpuload --points 60 --interval 300ms"));
    fixture.await_text(&mut running, "002-cpuload", "\"phase\":\"measuring\"");
    let pid = running.pid();
    send(child_of(&fixture, pid, "observe").unwrap(), Signal::STOP);
    running.signal(Signal::INT);
    running.wait().expect(130, &[]);
    assert_nothing_left(&fixture, pid, &queue_keys(&fixture));
    assert_eq!(fixture.run_file("002-cpuload").status(), EndStatus::Interrupted);
}

#[test]
fn a_reader_of_the_progress_that_went_away_is_no_failure() {
    let fixture = Fixture::new();
    let mut command = fixture.run("--load cpuload");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = command.stderr(writer).stdout(std::process::Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(fixture.run_file("003-noload").status(), EndStatus::Complete);
}

#[test]
fn a_reader_of_the_result_that_went_away_is_no_failure() {
    let fixture = Fixture::new();
    for arguments in ["reference", "completions bash", "--help", "show reference:resp1/2.4.20"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = fixture.thrashlab(arguments);
        let output = command.stdout(writer).stderr(std::process::Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), said.as_ref()), (Some(0), ""), "{arguments}");
    }
}
