//! Whoever ends, and whenever: no guest outlives its run, and the next run works.

use std::time::Duration;

use model::EndStatus;
use rustix::process::Signal;

use crate::lab::Lab;
use crate::left::{assert_nothing_left, child_of, queue_keys};

const MEASURING: &str = "\"phase\":\"measuring\"";
const EMULATOR: &str = "qemu-system-x86_64";
/// A cell that is soon over, and one that is not.
const LONG: &str = "--load cpuload --jobs 1 --interval 200ms --points 40";

#[test]
fn a_killed_run_leaves_no_guest_and_the_next_works() {
    const NAME: &str = "a_killed_run_leaves_no_guest_and_the_next_works";
    let Some(lab) = Lab::with_empty_cells(NAME) else { return };
    let mut running = lab.start("", LONG);
    lab.fixture.await_text(&mut running, "004-cpuload-seed1", MEASURING);
    let pid = running.pid();
    assert!(child_of(&lab.fixture, pid, EMULATOR).is_some(), "its guest is looked for rightly");
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code(), None);
    assert_nothing_left(&lab.fixture, pid, &queue_keys(&lab.fixture));
    let run = lab.fixture.run_file("004-cpuload-seed1");
    assert_eq!((run.status(), run.checksum_ok), (EndStatus::Killed, None));

    // The cell that was finished before is kept, the one that was not is run.
    let next = lab.sibling();
    next.finish("", LONG).expect(0, &["1 of 2 cells were in the cache"]);
    assert_eq!(next.fixture.run_file("004-cpuload-seed1").status(), EndStatus::Complete);
}

#[test]
fn a_run_killed_while_its_machine_boots_leaves_no_guest_and_the_next_works() {
    const NAME: &str = "a_run_killed_while_its_machine_boots_leaves_no_guest_and_the_next_works";
    let Some(lab) = Lab::with_empty_cache(NAME) else { return };
    for wait_ms in [0, 30, 300, 1000] {
        let lab = lab.sibling();
        let mut running = lab.start("", "--load noload");
        let pid = running.pid();
        running.await_that("a guest", || child_of(&lab.fixture, pid, EMULATOR).is_some());
        std::thread::sleep(Duration::from_millis(wait_ms));
        running.signal(Signal::KILL);
        assert_eq!(running.wait().code(), None, "after {wait_ms} ms it was over already");
        assert_nothing_left(&lab.fixture, pid, &queue_keys(&lab.fixture));
    }
    let finished = lab.finish("", "--load noload");
    finished.expect(0, &[]);
    assert!(!finished.stderr.contains("in the cache"), "{}", finished.stderr);
}

#[test]
fn a_request_to_stop_keeps_what_is_finished() {
    const NAME: &str = "a_request_to_stop_keeps_what_is_finished";
    let Some(lab) = Lab::with_empty_cells(NAME) else { return };
    for (seed, request) in [(1, Signal::INT), (2, Signal::TERM)] {
        let lab = lab.sibling();
        let [soon, late] = ["001-noload", "004-cpuload"].map(|name| format!("{name}-seed{seed}"));
        let mut running = lab.start("", &format!("{LONG} --seed {seed}"));
        lab.fixture.await_text(&mut running, &late, MEASURING);
        let pid = running.pid();
        running.signal(request);
        running.wait().expect(130, &[]);
        assert_nothing_left(&lab.fixture, pid, &queue_keys(&lab.fixture));
        let run = lab.fixture.run_file(&late);
        assert_eq!((run.status(), run.checksum_ok), (EndStatus::Interrupted, Some(true)));
        assert_eq!(lab.fixture.run_file(&soon).status(), EndStatus::Complete);
        assert_eq!(lab.entries("cells").len(), seed, "what is finished is kept, and nothing else");
    }
}

#[test]
fn a_request_to_stop_while_the_machine_boots_is_heard() {
    const NAME: &str = "a_request_to_stop_while_the_machine_boots_is_heard";
    let Some(lab) = Lab::with_empty_cache(NAME) else { return };
    let mut running = lab.start("", "--load noload");
    let pid = running.pid();
    running.await_that("a guest", || child_of(&lab.fixture, pid, EMULATOR).is_some());
    running.signal(Signal::INT);
    running.wait().expect(130, &[]);
    assert_nothing_left(&lab.fixture, pid, &queue_keys(&lab.fixture));
    assert!(lab.entries("snapshots").is_empty(), "nothing half finished is left");
}
