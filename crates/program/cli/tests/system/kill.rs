//! SIGKILL at any time: nothing is left, and the run file is valid up to its last line.

use std::collections::BTreeSet;
use std::time::Duration;

use model::EndStatus;
use rustix::process::Signal;

use crate::left::{assert_nothing_left, child_of, groups, queue_keys};
use crate::support::{Fixture, Running, send};

const WARMING: &str = "\"phase\":\"warming\"";
const MEASURING: &str = "\"phase\":\"measuring\"";

/// Name of the run of a load in an invocation with that load alone.
fn run_of(load: &str) -> String {
    format!("{}-{load}", if load == "noload" { "001" } else { "002" })
}

/// A run of one load that has reached a phase.
fn under_way(fixture: &Fixture, load: &str, phase: &str) -> Running {
    let arguments = format!("--load {load} --points 3 --interval 300ms");
    let mut running = fixture.start(fixture.run(&arguments));
    fixture.await_text(&mut running, &run_of(load), phase);
    running
}

/// What was killed in a phase of a load, and what it could have left.
struct Killed {
    fixture: Fixture,
    pid: u32,
    queues: BTreeSet<i64>,
    sandboxed: bool,
}

/// Kills the controller of a run in a phase, after whatever else `kill` ends. Tries again where the
/// load was stopped before the signals came: a busy machine can take longer than a whole run.
fn killed_in(load: &str, phase: &str, kill: impl Fn(&Fixture, u32)) -> Killed {
    for _ in 0..5 {
        let fixture = Fixture::new();
        let running = under_way(&fixture, load, phase);
        let (pid, queues) = (running.pid(), queue_keys(&fixture));
        let sandboxed = !groups(pid).is_empty();
        kill(&fixture, pid);
        running.signal(Signal::KILL);
        let killed = running.wait().code().is_none();
        let run = String::from_utf8_lossy(&fixture.run_bytes(&run_of(load))).into_owned();
        if killed && !run.contains("\"phase\":\"stopped\"") {
            return Killed { fixture, pid, queues, sandboxed };
        }
        eprintln!("{load} had been stopped before the signals came");
    }
    panic!("{load} is never killed in the phase {phase}");
}

/// Calls a check for every load in both phases.
fn for_every_load(mut check: impl FnMut(&str, &str)) {
    for load in workloads::loads() {
        for phase in [WARMING, MEASURING] {
            eprintln!("{} at {phase}", load.name);
            check(load.name, phase);
        }
    }
}

#[test]
fn a_killed_controller_leaves_nothing() {
    for_every_load(|load, phase| {
        let Killed { fixture, pid, queues, .. } = killed_in(load, phase, |_, _| ());
        assert_nothing_left(&fixture, pid, &queues);
        let run = fixture.run_file(&run_of(load));
        assert_eq!(run.status(), EndStatus::Killed);
        assert_eq!(run.checksum_ok, None);
    });
}

#[test]
fn a_killed_agent_leaves_nothing_and_the_other_runs_go_on() {
    for_every_load(|load, phase| {
        let fixture = Fixture::new();
        let running = under_way(&fixture, load, phase);
        let (pid, queues) = (running.pid(), queue_keys(&fixture));
        let Some(agent) = child_of(&fixture, pid, "observe") else { panic!("no agent") };
        send(agent, Signal::KILL);
        let finished = running.wait();
        assert_nothing_left(&fixture, pid, &queues);
        let run = fixture.run_file(&run_of(load));
        assert_eq!(run.status(), EndStatus::Killed);
        assert_eq!(run.checksum_ok, Some(true), "the controller has written the end");
        if load == "noload" {
            // Without a sample of the baseline nothing can be compared.
            assert!(matches!(finished.code(), Some(0 | 3)), "{finished:#?}");
        } else {
            finished.expect(0, &["ended as Killed"]);
            assert!(finished.stdout.contains(load), "{}", finished.stdout);
            assert_eq!(fixture.run_file("003-noload").status(), EndStatus::Complete);
        }
    });
}

#[test]
fn after_a_power_cut_the_next_start_removes_everything_and_says_so() {
    for_every_load(|load, phase| {
        let Killed { fixture, pid, queues, sandboxed } = killed_in(load, phase, |fixture, pid| {
            // It has ended where the whole invocation has.
            if let Some(cleanup) = child_of(fixture, pid, "cleanup") {
                send(cleanup, Signal::KILL);
            }
        });
        let directory = fixture.work().join(format!("thrashlab-{pid}-1"));
        let directory = if load == "noload" {
            directory
        } else {
            directory.with_file_name(format!("thrashlab-{pid}-2"))
        };
        assert!(directory.exists(), "no process was left to remove {}", directory.display());
        fixture.run_file(&run_of(load));

        let output = fixture.path().join("next");
        let arguments =
            format!("--load noload --points 1 --interval 10ms --output {}", output.display());
        let next = fixture.finish(fixture.run(&arguments));
        let said = format!("had left: directory {}", directory.display());
        next.expect(0, &[&said]);
        if sandboxed {
            next.expect(0, &["had left: control group"]);
        }
        if load.contains("ctx-mem") && phase == MEASURING {
            next.expect(0, &["had left: SysV message queue"]);
        }
        assert_nothing_left(&fixture, pid, &queues);
    });
}

#[test]
fn a_power_cut_is_swept_from_another_directory_too() {
    let fixture = Fixture::new();
    let mut command = fixture.run("--load cpuload --work-dir work");
    let mut running = fixture.start({
        command.current_dir(fixture.path());
        command
    });
    fixture.await_text(&mut running, "001-noload", MEASURING);
    let pid = running.pid();
    if let Some(cleanup) = child_of(&fixture, pid, "cleanup") {
        send(cleanup, Signal::KILL);
    }
    drop(running);
    let elsewhere = fixture.path().join("elsewhere");
    let arguments = format!(
        "--load noload --points 1 --interval 10ms --output {} --work-dir {}",
        fixture.path().join("next").display(),
        elsewhere.display()
    );
    let mut next = fixture.run(&arguments);
    next.current_dir("/");
    fixture.finish(next).expect(0, &["had left: directory"]);
    assert_nothing_left(&fixture, pid, &queue_keys(&fixture));
}

#[test]
fn killed_at_any_moment_of_its_start_the_controller_leaves_nothing() {
    for step in 0..24 {
        let fixture = Fixture::new();
        let running = fixture.start(fixture.run("--load 2ctx-mem --interval 100ms"));
        let pid = running.pid();
        std::thread::sleep(Duration::from_millis(step * step));
        let queues = queue_keys(&fixture);
        drop(running);
        eprintln!("killed after {} ms", step * step);
        assert_nothing_left(&fixture, pid, &queues);
    }
}

#[test]
fn agents_killed_as_soon_as_they_are_there_never_stop_the_controller() {
    let fixture = Fixture::new();
    let mut running = fixture.start(fixture.run("--load cpuload,spawnload,2ctx-mem"));
    let pid = running.pid();
    // The first piece of the baseline is needed for the comparison.
    fixture.await_text(&mut running, "001-noload", "\"kind\":\"end\"");
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    while running.ended().is_none() && std::time::Instant::now() < deadline {
        if let Some(agent) = child_of(&fixture, pid, "observe") {
            send(agent, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(7));
    }
    running.wait().expect(0, &["7 runs", "run files: "]);
    assert_nothing_left(&fixture, pid, &queue_keys(&fixture));
}

#[test]
fn controller_and_agent_killed_together_leave_nothing() {
    let fixture = Fixture::new();
    let running = under_way(&fixture, "spawnload", MEASURING);
    let (pid, queues) = (running.pid(), queue_keys(&fixture));
    let agent = child_of(&fixture, pid, "observe").unwrap();
    send(agent, Signal::KILL);
    drop(running);
    assert_nothing_left(&fixture, pid, &queues);
}

#[test]
fn a_stopped_agent_does_not_outlive_its_controller() {
    let fixture = Fixture::new();
    let running = under_way(&fixture, "cpuload", MEASURING);
    let (pid, queues) = (running.pid(), queue_keys(&fixture));
    send(child_of(&fixture, pid, "observe").unwrap(), Signal::STOP);
    drop(running);
    assert_nothing_left(&fixture, pid, &queues);
}

#[test]
fn a_killed_cleanup_process_is_replaced_for_the_next_run() {
    let fixture = Fixture::new();
    let mut running = fixture.start(fixture.run("--load cpuload,spawnload"));
    let pid = running.pid();
    fixture.await_text(&mut running, "002-cpuload", WARMING);
    let first = child_of(&fixture, pid, "cleanup").unwrap();
    send(first, Signal::KILL);
    fixture.await_text(&mut running, "004-spawnload", MEASURING);
    let second = child_of(&fixture, pid, "cleanup").unwrap();
    assert_ne!(first, second);
    let queues = queue_keys(&fixture);
    drop(running);
    assert_nothing_left(&fixture, pid, &queues);
}
