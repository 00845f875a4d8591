//! Connections that break, and controllers that die.

use std::fs;

use model::EndStatus;
use rustix::process::Signal;

use crate::far::{Far, await_that};
use crate::left::child_of;
use crate::support::{Running, send};

const SAMPLE: &str = "\"kind\":\"sample\"";

/// How many samples a text has.
fn samples(bytes: &[u8]) -> usize {
    String::from_utf8_lossy(bytes).matches(SAMPLE).count()
}

/// A run that has a sample here, and whose agent there is stopped, so that it cannot end before it
/// is allowed to continue.
struct Held {
    running: Running,
    agent: u32,
}

impl Held {
    /// Starts it. Should it end before it could be stopped, a longer one is tried.
    fn start(far: &Far, arguments: &str) -> Self {
        for points in [4, 40, 400] {
            let run = far.run(&format!("{arguments} --interval 200ms --points {points}"));
            let mut running = far.fixture.start_as("held-", run);
            while running.ended().is_none() && samples(&far.fixture.run_bytes("001-noload")) == 0 {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            if let Some(agent) = far.agent() {
                send(agent, Signal::STOP);
                let part = far.spooled_bytes(".part").unwrap_or_default();
                if samples(&part) > 0
                    && !String::from_utf8_lossy(&part).contains("\"kind\":\"end\"")
                {
                    return Self { running, agent };
                }
                send(agent, Signal::CONT);
            }
            running.wait().expect(0, &[]);
            fs::remove_dir_all(far.fixture.output()).unwrap();
        }
        panic!("no run was long enough");
    }

    /// Kills the controller; what it leaves continues only when the test lets it.
    fn kill_controller(self, far: &Far) -> u32 {
        self.running.signal(Signal::KILL);
        assert_eq!(self.running.wait().code(), None);
        assert_eq!(far.fixture.run_file("001-noload").status(), EndStatus::Killed);
        self.agent
    }
}

#[test]
fn a_run_survives_its_connection_and_is_made_once() {
    let Some(far) = Far::new("a_run_survives_its_connection_and_is_made_once") else { return };
    let Held { mut running, agent } = Held::start(&far, "");
    let keeper = far.keeper();
    // The far end is cut, and while no connection is possible the run continues.
    far.server.shut(true);
    far.server.cut();
    running.await_that("it is noticed", || said(&far).contains("its run continues"));
    let here = samples(&far.fixture.run_bytes("001-noload"));
    send(agent, Signal::CONT);
    let bytes = || far.spooled_bytes(".part").or_else(|| far.spooled_bytes(".run"));
    assert!(await_that(|| bytes().is_some_and(|there| samples(&there) > here)));
    assert_eq!(samples(&far.fixture.run_bytes("001-noload")), here, "nothing can come");
    far.server.shut(false);
    let finished = running.wait();
    finished.expect(0, &["broke", "reconnected to ssh://127.0.0.1:"]);
    check_whole(&far);
    assert!(far.processes("keep").iter().all(|other| *other == keeper), "another session");
    far.await_clean();
}

#[test]
fn a_run_survives_the_death_of_ssh() {
    let Some(far) = Far::new("a_run_survives_the_death_of_ssh") else { return };
    let Held { mut running, agent } = Held::start(&far, "");
    let keeper = far.keeper();
    for deaths in 1..=2 {
        let ssh = child_of(&far.fixture, running.pid(), "ssh -F").expect("the controller's ssh");
        send(ssh, Signal::KILL);
        running.await_that("it is connected again", || {
            said(&far).matches("reconnected to ssh://").count() == deaths
        });
    }
    assert_eq!(far.keeper(), keeper, "the session is another one");
    send(agent, Signal::CONT);
    running.wait().expect(0, &[]);
    check_whole(&far);
    far.await_clean();
}

/// What the controller has printed so far.
fn said(far: &Far) -> String {
    fs::read_to_string(far.fixture.path().join("held-stderr")).unwrap()
}

/// The run is the one that ran there: its checksum is that of the lines as they were written, so
/// none is missing, doubled, or another's.
fn check_whole(far: &Far) {
    let run = far.fixture.run_file("001-noload");
    assert_eq!((run.status(), run.checksum_ok), (EndStatus::Complete, Some(true)));
    let text = String::from_utf8(far.fixture.run_bytes("001-noload")).unwrap();
    assert_eq!(text.matches("\"kind\":\"header\"").count(), 1);
    let points = run.header.unwrap().spec.timing.points;
    assert_eq!(text.matches(SAMPLE).count(), points as usize);
}

#[test]
fn what_a_killed_controller_left_is_finished_and_fetched_later() {
    let name = "what_a_killed_controller_left_is_finished_and_fetched_later";
    let Some(far) = Far::new(name) else { return };
    let held = Held::start(&far, "--seeds 1,2 --reconnect 1s");
    let points = far.fixture.run_file("001-noload").header.unwrap().spec.timing.points / 2;
    let agent = held.kill_controller(&far);
    send(agent, Signal::CONT);
    // It finishes its run, and nothing more.
    assert!(await_that(|| far.spooled().iter().any(|name| name.ends_with(".end"))));
    assert!(await_that(|| far.agent().is_none()));
    let spooled = far.spooled_bytes(".run").unwrap();
    // Nobody who has other results in mind gets it.
    let output = far.fixture.path().join("other");
    let other = format!("--wait --points 1 --output {}", output.display());
    far.fixture.finish(far.run(&other)).expect(0, &[]);
    assert_eq!(far.spooled_bytes(".run").as_ref(), Some(&spooled));
    // With --resume the first command continues, and executes what is missing.
    let same = format!("--seeds 1,2 --interval 200ms --points {points} --wait --resume");
    far.fixture.finish(far.run(&same)).expect(0, &[]);
    assert_eq!(far.fixture.run_bytes("001-noload"), spooled, "it was run again");
    assert_eq!(far.fixture.run_file("002-noload").status(), EndStatus::Complete);
    let before = far.fixture.run_bytes("002-noload");
    far.fixture.finish(far.run(&same)).expect(0, &[]);
    assert_eq!(far.fixture.run_bytes("002-noload"), before, "a finished run was run again");
    assert!(await_that(|| far.spooled() == ["lease"]), "{:?}", far.spooled());
}

#[test]
fn what_nobody_fetches_is_removed_when_its_time_is_over() {
    let name = "what_nobody_fetches_is_removed_when_its_time_is_over";
    let Some(far) = Far::new(name) else { return };
    let agent = Held::start(&far, "--reconnect 1s --keep 1s").kill_controller(&far);
    send(agent, Signal::CONT);
    far.await_clean();
}

#[test]
fn a_later_controller_goes_on_with_the_run_under_way() {
    let Some(far) = Far::new("a_later_controller_goes_on_with_the_run_under_way") else { return };
    let held = Held::start(&far, "");
    let points = far.fixture.run_file("001-noload").header.unwrap().spec.timing.points / 2;
    let agent = held.kill_controller(&far);
    let keeper = far.keeper();
    let same = format!("--interval 200ms --points {points} --resume");
    let mut next = far.fixture.start(far.run(&same));
    far.fixture.await_text(&mut next, "001-noload", SAMPLE);
    assert_eq!(far.keeper(), keeper, "the session is another one");
    send(agent, Signal::CONT);
    next.wait().expect(0, &[]);
    check_whole(&far);
    far.await_clean();
}

#[test]
fn a_machine_that_does_not_come_back_is_given_up_after_the_stated_time() {
    let name = "a_machine_that_does_not_come_back_is_given_up_after_the_stated_time";
    let Some(far) = Far::new(name) else { return };
    let Held { running, agent } = Held::start(&far, "--reconnect 1s --keep 1s");
    far.server.shut(true);
    far.server.cut();
    let words = ["trying to reconnect for 1 s", "has not come back for", "resume it"];
    running.wait().expect(3, &words);
    assert_eq!(far.fixture.run_file("001-noload").status(), EndStatus::Killed);
    send(agent, Signal::CONT);
    far.await_clean();
}
