//! Connections that break, and controllers that die.

use model::EndStatus;
use rustix::process::Signal;

use crate::far::{Far, await_that};
use crate::left::child_of;
use crate::support::{Running, send};

/// A run of some seconds, in which there is time to break something.
const LONG: &str = "--interval 400ms --points 6";

/// Waits for a number of samples in the file of a run.
fn await_samples(far: &Far, running: &mut Running, count: usize) {
    running.await_that(&format!("{count} samples"), || {
        let text = String::from_utf8(far.fixture.run_bytes("001-noload")).unwrap();
        text.matches("\"kind\":\"sample\"").count() >= count
    });
}

#[test]
fn a_run_survives_its_connection_and_is_made_once() {
    let Some(far) = Far::new("a_run_survives_its_connection_and_is_made_once") else { return };
    let mut running = far.fixture.start(far.run(LONG));
    await_samples(&far, &mut running, 1);
    let keeper = far.keeper();
    far.server.cut();
    // What is missing comes over the next connection.
    await_samples(&far, &mut running, 3);
    assert_eq!(far.keeper(), keeper, "the session is another one");
    send(child_of(&far.fixture, running.pid(), "ssh -F").unwrap(), Signal::KILL);
    let finished = running.wait();
    finished.expect(0, &["broke", "its run goes on", "connected with ssh://127.0.0.1:"]);
    assert_eq!(finished.stderr.matches("again\n").count(), 2, "{}", finished.stderr);
    assert!(far.server.accepted() >= 3);
    let run = far.fixture.run_file("001-noload");
    // The checksum is that of the lines as they were made: none is missing, doubled, or another's.
    assert_eq!((run.status(), run.checksum_ok), (EndStatus::Complete, Some(true)));
    let text = String::from_utf8(far.fixture.run_bytes("001-noload")).unwrap();
    assert_eq!(text.matches("\"kind\":\"header\"").count(), 1);
    assert_eq!(text.matches("\"kind\":\"sample\"").count(), 12);
    far.await_clean();
}

/// Kills a controller that has got a sample.
fn killed(far: &Far, arguments: &str) {
    let mut running = far.fixture.start_as("killed-", far.run(arguments));
    await_samples(far, &mut running, 1);
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code(), None);
    assert_eq!(far.fixture.run_file("001-noload").status(), EndStatus::Killed);
}

#[test]
fn what_a_killed_controller_left_is_finished_and_fetched_later() {
    let name = "what_a_killed_controller_left_is_finished_and_fetched_later";
    let Some(far) = Far::new(name) else { return };
    let arguments = "--interval 300ms --points 2 --seeds 1,2 --reconnect 1s";
    killed(&far, arguments);
    // It finishes its run, and nothing more.
    assert!(await_that(|| far.spooled().iter().any(|name| name.ends_with(".end"))));
    assert!(await_that(|| far.processes("__agent").is_empty()));
    let spooled = far.spooled_bytes(".run").unwrap();
    assert!(await_that(|| far.spooled().iter().all(|name| !name.ends_with(".socket"))));
    // Nobody who has other results in mind gets it.
    let output = far.fixture.path().join("other");
    let other = format!("--points 1 --output {}", output.display());
    far.fixture.finish(far.run(&other)).expect(0, &[]);
    assert_eq!(far.spooled_bytes(".run").as_ref(), Some(&spooled));
    // The same command with --resume does, and makes what is missing.
    far.fixture.finish(far.run(&format!("{arguments} --resume"))).expect(0, &["[2/2]"]);
    assert_eq!(far.fixture.run_bytes("001-noload"), spooled, "it was made again");
    assert_eq!(far.fixture.run_file("002-noload").status(), EndStatus::Complete);
    let before = far.fixture.run_bytes("002-noload");
    let again = far.fixture.finish(far.run(&format!("{arguments} --resume")));
    again.expect(0, &[]);
    assert_eq!(far.fixture.run_bytes("002-noload"), before, "a finished run was made again");
    assert!(await_that(|| far.spooled() == ["lease"]), "{:?}", far.spooled());
}

#[test]
fn what_nobody_fetches_is_removed_when_its_time_is_over() {
    let name = "what_nobody_fetches_is_removed_when_its_time_is_over";
    let Some(far) = Far::new(name) else { return };
    killed(&far, "--interval 300ms --points 4 --reconnect 1s --keep 1s");
    far.await_clean();
}

#[test]
fn a_later_controller_goes_on_with_the_run_under_way() {
    let Some(far) = Far::new("a_later_controller_goes_on_with_the_run_under_way") else { return };
    killed(&far, LONG);
    let keeper = far.keeper();
    let mut next = far.fixture.start(far.run(&format!("{LONG} --resume")));
    await_samples(&far, &mut next, 2);
    assert_eq!(far.keeper(), keeper, "the session is another one");
    next.wait().expect(0, &[]);
    let run = far.fixture.run_file("001-noload");
    assert_eq!((run.status(), run.checksum_ok), (EndStatus::Complete, Some(true)));
    far.await_clean();
}

#[test]
fn a_machine_that_does_not_come_back_is_given_up_after_the_stated_time() {
    let name = "a_machine_that_does_not_come_back_is_given_up_after_the_stated_time";
    let Some(mut far) = Far::new(name) else { return };
    let mut running = far.fixture.start(far.run(&format!("{LONG} --reconnect 1s --keep 1s")));
    await_samples(&far, &mut running, 1);
    far.server.vanish();
    let words = ["connecting is tried for 1 s", "has not come back for", "Connection refused"];
    running.wait().expect(3, &words);
    assert_eq!(far.fixture.run_file("001-noload").status(), EndStatus::Killed);
    far.await_clean();
}
