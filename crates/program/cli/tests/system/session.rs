//! `thrashlab run --job session`: what users do is what the script specifies, all of it is in the
//! run file, and nothing of it is left.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use model::{EndStatus, Line, Measure, PassRecord, Run, Tools, WorkRecord};
use rustix::process::Signal;

use crate::left::{assert_nothing_left, child_of, processes, queue_keys};
use crate::support::{Fixture, sandbox_works, send};

/// Two users who do not think for long.
const SOON: &str = "--job session --users 2 --set think=5ms";

fn works(run: &Run) -> Vec<&WorkRecord> {
    let works = run.lines.iter().filter_map(|line| match line {
        Line::Work(work) => Some(work.as_ref()),
        _ => None,
    });
    works.collect()
}

fn passes(run: &Run) -> Vec<&PassRecord> {
    let passes = run.lines.iter().filter_map(|line| match line {
        Line::Pass(pass) => Some(pass.as_ref()),
        _ => None,
    });
    passes.collect()
}

/// Arguments of a session of two users with these commands, their words as in TOML.
fn of_script(fixture: &Fixture, commands: &[(&str, &str)]) -> String {
    let mut script = "name = \"test\"\nusers = 2\nthink = \"1ms\"\n".to_owned();
    for (name, words) in commands {
        script.push_str(&format!("[[command]]\nname = \"{name}\"\nrun = {words}\n"));
    }
    let path = fixture.path().join("script.toml");
    fs::write(&path, script).unwrap();
    format!("--job session --script {}", path.display())
}

/// The run of such a session, with further arguments.
fn with_script(fixture: &Fixture, commands: &[(&str, &str)], arguments: &str) -> Command {
    fixture.run(&format!("{} {arguments}", of_script(fixture, commands)))
}

#[test]
fn every_user_issues_every_command_once_a_pass() {
    let subjects =
        if sandbox_works() { &["host:mem=64M", "sandbox:mem=64M"][..] } else { &["host:mem=64M"] };
    for subject in subjects {
        for tools in ["auto", "builtin"] {
            let fixture = Fixture::new();
            let arguments = format!("{SOON} --set tools={tools}");
            let finished = fixture.finish(fixture.run_on(subject, &arguments));
            finished.expect(0, &[]);
            assert!(finished.sentences().contains("performance measure"), "{}", finished.stdout);
            let run = fixture.run_file("001-noload");
            assert_eq!((run.status(), run.checksum_ok), (EndStatus::Complete, Some(true)));
            let Measure::Session(session) = &run.header.as_ref().unwrap().spec.measure else {
                panic!("no session: {:?}", run.header)
            };
            let script = &session.script;
            assert_ne!(script.tools, Tools::Auto, "the choice is reported");
            let mut orders: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
            for work in works(&run).into_iter().filter(|work| work.pass == 0) {
                orders.entry(work.worker).or_default().push(&work.item);
                assert_eq!(work.failure, None, "{work:?}");
                assert!(work.usage.len() == 8 && work.usage["minor_faults"] > 0, "{work:?}");
                assert!(work.completed_ns.unwrap() > work.started_ns, "{work:?}");
            }
            let all: BTreeSet<&str> =
                script.commands.iter().map(|command| command.name.as_str()).collect();
            assert_eq!(orders.len(), 2);
            for order in orders.values() {
                assert_eq!((order.len(), order.iter().copied().collect()), (16, all.clone()));
            }
            assert_ne!(orders[&0], orders[&1], "each has its own order");
            let firsts = passes(&run).into_iter().filter(|pass| pass.pass == 0);
            let workers: BTreeSet<u32> = firsts.map(|pass| pass.worker).collect();
            assert_eq!(workers, [0, 1].into());
            assert_nothing_left(&fixture, 0, &BTreeSet::new());
        }
    }
}

#[test]
fn whoever_is_done_goes_on_until_all_are() {
    let fixture = Fixture::new();
    let slow = r#"["sh", "-c", "sleep 0.{user}5; : {user}"]"#;
    let command =
        with_script(&fixture, &[("wait", slow), ("nothing", "[\"true\"]")], "--set users=3");
    fixture.finish(command).expect(0, &[]);
    let run = fixture.run_file("001-noload");
    let firsts: Vec<&PassRecord> = passes(&run).into_iter().filter(|pass| pass.pass == 0).collect();
    let order: Vec<u32> = firsts.iter().map(|pass| pass.worker).collect();
    assert_eq!(order, [0, 1, 2]);
    let later = |user: u32| works(&run).iter().filter(|w| w.worker == user && w.pass > 0).count();
    assert!(later(0) > later(1) && later(1) > 0 && later(2) == 0, "{} {}", later(0), later(1));
    for pass in firsts {
        let own: u64 = works(&run)
            .iter()
            .filter(|work| work.pass == 0 && work.worker == pass.worker)
            .map(|work| work.usage["user_ns"] + work.usage["system_ns"])
            .sum();
        let all = pass.usage["user_ns"] + pass.usage["system_ns"];
        assert!(all >= own, "the commands' time is the user's: {own} of {all}");
    }
}

#[test]
fn what_fails_is_told_and_never_dropped() {
    let fixture = Fixture::new();
    let commands = [
        ("broken", r#"["sh", "-c", "echo the reason >&2; exit 3"]"#),
        ("endless", r#"["sleep", "60"]"#),
        ("noisy", r#"["sh", "-c", "while echo x; do :; done >&2; exit 0"]"#),
        ("fine", r#"["true"]"#),
    ];
    let finished = fixture.finish(with_script(&fixture, &commands, "--set limit=300ms"));
    finished.expect(0, &[]);
    for words in ["broken always failed", "exit code 3: the reason", "endless always failed"] {
        assert!(finished.sentences().contains(words), "{words:?} is not in\n{}", finished.stdout);
    }
    let run = fixture.run_file("001-noload");
    assert_eq!(run.status(), EndStatus::Complete);
    let of = |item: &str| works(&run).into_iter().find(|work| work.item == item).unwrap().clone();
    assert_eq!(of("broken").failure.as_deref(), Some("exit code 3: the reason"));
    assert!(of("broken").completed_ns.is_some());
    let endless = of("endless");
    assert_eq!(endless.completed_ns, None);
    let given_up_ns = endless.censored_at_ns.unwrap() - endless.started_ns;
    assert!((300_000_000..20_000_000_000).contains(&given_up_ns), "{given_up_ns}");
    assert_eq!(of("fine").failure, None);
    let again = fixture.finish(fixture.thrashlab(&format!("show {}", fixture.output().display())));
    again.expect(0, &[]);
    assert_eq!(again.stdout, finished.stdout);
    let json =
        fixture.finish(fixture.thrashlab(&format!("show {} --json", fixture.output().display())));
    let session: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(session["commands"][0]["first"]["failed"], 2, "{session}");
}

#[test]
fn a_killed_controller_or_agent_leaves_no_command_behind() {
    for victim in ["controller", "agent"] {
        for subject in ["host:mem=64M", "sandbox:mem=64M"] {
            if subject.starts_with("sandbox") && !sandbox_works() {
                continue;
            }
            let fixture = Fixture::new();
            // Children of a command, one of them in a session of its own.
            let script = r#"["sh", "-c", "sleep 77 & setsid sleep 77 & (sleep 77; :)"]"#;
            let arguments = of_script(&fixture, &[("sleepers", script)]);
            let mut running = fixture.start(fixture.run_on(subject, &arguments));
            let sleepers = || {
                processes(&fixture)
                    .iter()
                    .filter(|found| found.command.starts_with("sleep 77"))
                    .count()
            };
            running.await_that("all sleepers", || sleepers() == 6);
            let (pid, queues) = (running.pid(), queue_keys(&fixture));
            if victim == "agent" {
                send(child_of(&fixture, pid, "observe").unwrap(), Signal::KILL);
                running.wait();
            } else {
                running.signal(Signal::KILL);
                assert_eq!(running.wait().code(), None);
            }
            assert_nothing_left(&fixture, pid, &queues);
            assert_eq!(fixture.run_file("001-noload").status(), EndStatus::Killed);
        }
    }
}

#[test]
fn a_request_to_stop_ends_the_session_and_keeps_what_was_done() {
    let fixture = Fixture::new();
    let arguments = "--job session --users 3 --set think=200ms --load cpuload";
    let mut running = fixture.start(fixture.run(arguments));
    fixture.await_text(&mut running, "001-noload", "\"kind\":\"work\"");
    let (pid, queues) = (running.pid(), queue_keys(&fixture));
    running.signal(Signal::INT);
    let finished = running.wait();
    finished.expect(130, &[]);
    assert!(finished.sentences().contains("no measure"), "{}", finished.stdout);
    assert_nothing_left(&fixture, pid, &queues);
    let run = fixture.run_file("001-noload");
    assert_eq!((run.status(), run.checksum_ok), (EndStatus::Interrupted, Some(true)));
}

#[test]
fn a_session_runs_under_a_load_with_every_seed() {
    let fixture = Fixture::new();
    let arguments = format!("{SOON} --load cpuload --seeds 1..2");
    let finished = fixture.finish(fixture.run(&arguments));
    finished.expect(0, &[]);
    let names = ["001-noload", "002-cpuload", "003-noload", "004-cpuload"];
    let orders = names.map(|name| {
        let run = fixture.run_file(name);
        assert_eq!(run.status(), EndStatus::Complete, "{name}");
        let delivered = run.lines.iter().any(|line| matches!(line, Line::Delivered(_)));
        assert!(delivered, "{name}");
        let own = works(&run).into_iter().filter(|work| work.worker == 0 && work.pass == 0);
        own.map(|work| work.item.clone()).collect::<Vec<_>>()
    });
    assert_eq!(orders[0], orders[1], "a seed is an order");
    assert_ne!(orders[0], orders[2]);
    assert!(finished.sentences().contains("times that under cpuload"), "{}", finished.stdout);
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_runs() {
    let fixture = Fixture::new();
    let missing = with_script(&fixture, &[("fly", "[\"no-such-program\"]")], "");
    fixture.finish(missing).expect(3, &["command \"fly\" needs \"no-such-program\""]);
    let wrong = with_script(&fixture, &[("fly", "[\"{where}\"]")], "");
    fixture.finish(wrong).expect(2, &["line 6, column 8", "\"where\""]);
    let cases: [(&str, &[&str]); 7] = [
        ("--job nosuch", &["nosuch", "session"]),
        ("--job session --probe wake", &["cannot be used with"]),
        ("--job session --points 3", &["cannot be used with"]),
        ("--users 3", &["--job"]),
        ("--job session --users 0", &["1 to 64"]),
        ("--job session --set colour=red", &["colour", "think"]),
        ("--job session --format resp1", &["probe"]),
    ];
    for (arguments, words) in cases {
        let mut command = fixture.thrashlab("run");
        command.args(arguments.split_whitespace());
        fixture.finish(command).expect(2, words);
    }
    assert!(!fixture.output().exists(), "nothing was run");
}
