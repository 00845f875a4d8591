//! How a repetition of the user's command ended, and what its figures are of.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use model::{EndStatus, Line, Run, WorkEnd, WorkRecord};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;

use crate::skip::skip;
use crate::support::{Finished, Fixture, sandbox_works, send};

/// `thrashlab` with these words, without a report, in the smallest subject that this machine allows.
fn thrashlab(fixture: &Fixture, words: &[&str]) -> Finished {
    let subject = if sandbox_works() { "sandbox:mem=64M" } else { "host:mem=64M" };
    let mut command = fixture.thrashlab("run --no-report --output output --work-dir work");
    command.args(["--subject", subject]).args(words);
    fixture.finish(command)
}

fn script(fixture: &Fixture, name: &str, text: &str) {
    let path = fixture.path().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

fn works(run: &Run) -> Vec<&WorkRecord> {
    let lines = run.lines.iter();
    lines
        .filter_map(|line| if let Line::Work(work) = line { Some(&**work) } else { None })
        .collect()
}

fn says(finished: &Finished, words: &str) {
    assert!(finished.sentences().contains(words), "{words:?} is not in {finished:#?}");
}

#[test]
fn what_cannot_be_started_is_a_failure_and_no_time() {
    for (more, status) in [(&[][..], EndStatus::Failed), (&["-i"][..], EndStatus::Complete)] {
        let fixture = Fixture::new();
        script(&fixture, "b", "#!/no/such/interpreter\n");
        let words = [more, &["--runs", "2", "--", "./b"]].concat();
        let finished = thrashlab(&fixture, &words);
        finished.expect(3, &["\"./b\" cannot be started: No such file"]);
        says(&finished, "./b never worked: cannot be started: No such file");
        assert!(!finished.stdout.contains('≥'), "{finished:#?}");
        let run = fixture.run_file("001-noload");
        assert_eq!(run.status(), status);
        assert!(matches!(works(&run)[0].end(), WorkEnd::NotStarted { .. }));
        let exported = fixture.finish(fixture.thrashlab("export output --format hyperfine"));
        assert_ne!(exported.code(), Some(0), "there is no time: {exported:#?}");
    }
}

#[test]
fn a_program_that_vanishes_between_two_repetitions_fails() {
    let fixture = Fixture::new();
    script(&fixture, "once", "#!/bin/sh\nrm once\n");
    let finished = thrashlab(&fixture, &["--runs", "3", "--", "./once"]);
    finished.expect(1, &[]);
    says(&finished, "1 repetition failed: cannot be started: No such file");
    assert_eq!(fixture.run_file("001-noload").status(), EndStatus::Failed);
}

#[test]
fn a_program_that_another_process_writes_fails() {
    let fixture = Fixture::new();
    script(&fixture, "busy", "#!/bin/sh\n");
    let writes = fs::File::options().append(true).open(fixture.path().join("busy")).unwrap();
    let finished = thrashlab(&fixture, &["--runs", "2", "--", "./busy"]);
    finished.expect(3, &["\"./busy\" cannot be started: Text file busy"]);
    drop(writes);
    // Nothing was measured, so the folder is free for the next try.
    let words = ["--runs", "2", "--", "./busy"];
    thrashlab(&fixture, &words).expect(0, &["its command never started"]);
    thrashlab(&fixture, &words).expect(2, &["holds runs already"]);
}

#[test]
fn an_empty_entry_of_the_search_path_is_the_folder_of_the_command() {
    let fixture = Fixture::new();
    script(&fixture, "here", "#!/bin/sh\n");
    for (path, is_found) in [("", false), (":/usr/bin:/bin", true)] {
        let run = |words: &[&str]| {
            let mut command = fixture.thrashlab("run --no-report --work-dir work --runs 1");
            command.args(["--subject", "host:mem=64M"]).args(words).env("PATH", path);
            fixture.finish(command)
        };
        let folder = format!("of-{}", path.len());
        run(&["--output", &folder, "--", "here"]).expect(0, &[]);
        let other = run(&["--output", &format!("{folder}-true"), "--", "true"]);
        match is_found {
            true => other.expect(0, &[]),
            false => other.expect(3, &["there is no program \"true\""]),
        }
    }
}

#[test]
fn no_limit_is_recommended_for_what_cannot_be_started() {
    let fixture = Fixture::new();
    script(&fixture, "b", "#!/no/such/interpreter\n");
    let line = "limit --range 64M..16M --output output --work-dir work -- ./b";
    let finished = fixture.finish(fixture.thrashlab(line));
    assert_ne!(finished.code(), Some(0), "{finished:#?}");
    assert!(!finished.stdout.contains("ecommended"), "{finished:#?}");
}

#[test]
fn a_process_that_was_killed_for_memory_is_a_failure_though_the_command_goes_on() {
    const NAME: &str =
        "a_process_that_was_killed_for_memory_is_a_failure_though_the_command_goes_on";
    if !sandbox_works() {
        return skip(NAME, "this user cannot make sandboxes here");
    }
    const LINE: &str = "dd if=/dev/zero of=/dev/null bs=200M count=1; true";
    let fixture = Fixture::new();
    let finished = thrashlab(&fixture, &["--runs", "3", "--command", LINE]);
    finished.expect(1, &[]);
    says(&finished, "exit code 0, and the kernel killed one of its processes for lack of memory");
    let run = fixture.run_file("001-noload");
    assert_eq!(run.status(), EndStatus::OutOfMemory);
    let end = WorkEnd::KilledForMemory { processes: 1, code: Some(0) };
    assert_eq!(works(&run)[0].end(), end);
    let other = Fixture::new();
    thrashlab(&other, &["--runs", "3", "-i", "--command", LINE]).expect(0, &[]);
    assert_eq!(works(&other.run_file("001-noload")).len(), 3, "each one is counted");
}

#[test]
fn a_killed_child_is_the_death_of_a_limit_and_a_difference_to_what_works() {
    const NAME: &str = "a_killed_child_is_the_death_of_a_limit_and_a_difference_to_what_works";
    if !sandbox_works() {
        return skip(NAME, "this user cannot make sandboxes here");
    }
    let fixture = Fixture::new();
    let mut command = fixture.thrashlab("limit --range 64M..32M --budget 8 --runs 1 --json");
    command.args(["--output", "limit", "--work-dir", "work", "--command"]);
    command.arg("dd if=/dev/zero of=/dev/null bs=48M count=1; true");
    let finished = fixture.finish(command);
    finished.expect(0, &[]);
    let found: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    let priced = &found["found"]["priced"];
    let reason = priced["death"]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("out of memory"), "{found:#}");
    assert!(priced["recommended"]["level"].as_f64().unwrap() > 48e6, "{priced}");
    // The last limit died, and the cost is elapsed time all the same.
    let shown = fixture.finish(fixture.thrashlab("sweep --from limit"));
    shown.expect(0, &[]);
    assert!(shown.stdout.starts_with("Limit: elapsed_ns (ns)"), "{shown:?}");

    let mut command = fixture.thrashlab("ab command --blocks 4 --output ab --work-dir work");
    command.args(["--subject", "sandbox:mem=64M", "true"]);
    command.arg("sh -c 'dd if=/dev/zero of=/dev/null bs=96M count=1; true'");
    let finished = fixture.finish(command);
    finished.expect(0, &[]);
    let outcome = finished.stdout.lines().find(|line| line.starts_with("outcome")).unwrap();
    assert!(outcome.contains("failed 4 of 4"), "{finished:#?}");
}

#[test]
fn a_load_that_is_killed_for_memory_is_no_failure_of_the_command() {
    const NAME: &str = "a_load_that_is_killed_for_memory_is_no_failure_of_the_command";
    if !sandbox_works() {
        return skip(NAME, "this user cannot make sandboxes here");
    }
    let fixture = Fixture::new();
    let line = "run --no-report --output output --work-dir work --subject sandbox:mem=48M \
                --load cpuload --intensity 60 --runs 3 -- dd if=/dev/zero of=/dev/null bs=40M";
    let finished = fixture.finish(fixture.thrashlab(&format!("{line} count=1")));
    finished.expect(0, &[]);
    says(&finished, "the load needs more memory than there is");
    says(&finished, "under cpuload has no time: no repetition was finished");
    let run = fixture.run_file("002-cpuload");
    assert_eq!(run.status(), EndStatus::LoadDied);
    let is_blamed = |end: &WorkEnd| matches!(end, WorkEnd::KilledForMemory { code: Some(_), .. });
    assert!(works(&run).iter().all(|work| !is_blamed(&work.end())), "{:?}", works(&run));
}

#[test]
fn the_time_of_a_process_that_nobody_waits_for_counts() {
    // It spins for as long as the shell sleeps, and is an orphan then.
    const LINE: &str = "while :; do :; done & sleep 0.4; kill $!";
    let fixture = Fixture::new();
    let finished = thrashlab(&fixture, &["--runs", "2", "--command", LINE]);
    finished.expect(0, &[]);
    if !sandbox_works() {
        return says(&finished, "(means): the command and its processes that were waited for");
    }
    says(&finished, "(means): CPU time of all processes, the rest of those that were waited for");
    for work in works(&fixture.run_file("001-noload")) {
        let [user_ns, _] = work.cpu_ns().unwrap();
        assert!(user_ns > 20_000_000, "{work:?}");
        assert!(work.usage["user_ns"] < user_ns / 2, "{work:?}");
    }
}

#[test]
fn a_crash_now_and_then_is_counted_and_does_not_blame_the_folder() {
    const CRASHES: &str = "#!/bin/sh\nread n <n\necho $((n + 1)) >n\n[ $n != CRASH ]\n";
    for (crash, count) in [("1", 2), ("3", 4)] {
        let fixture = Fixture::new();
        script(&fixture, "flaky", &CRASHES.replace("CRASH", crash));
        fs::write(fixture.path().join("n"), "0\n").unwrap();
        let finished = thrashlab(&fixture, &["--runs", "6", "--", "./flaky"]);
        finished.expect(1, &[]);
        says(&finished, "./flaky: 1 repetition failed: exit code 1");
        assert!(!finished.sentences().contains("worked once"), "{finished:#?}");
        let run = fixture.run_file("001-noload");
        assert_eq!((works(&run).len(), run.status()), (count, EndStatus::Failed));
    }
}

#[test]
fn a_command_that_the_terminal_stops_ends_at_once_and_says_so() {
    let fixture = Fixture::new();
    let began = Instant::now();
    // As the terminal does to who reads it from the background.
    let finished = thrashlab(&fixture, &["--runs", "2", "--command", "kill -TTIN $$; true"]);
    finished.expect(1, &[]);
    says(&finished, "stopped, as it read from the terminal");
    assert!(began.elapsed() < Duration::from_secs(60));
    let run = fixture.run_file("001-noload");
    assert!(matches!(works(&run)[0].end(), WorkEnd::StoppedByTerminal { .. }));
}

#[test]
fn an_input_that_can_be_read_once_only_is_refused_without_waiting() {
    let fixture = Fixture::new();
    let fifo = fixture.path().join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let finished = thrashlab(&fixture, &["--input", "fifo", "--", "cat"]);
    finished.expect(3, &["the input of the command, fifo: a FIFO can be read once only"]);
}

#[test]
fn a_hang_up_that_is_ignored_stays_ignored() {
    let fixture = Fixture::new();
    let mut command = fixture.other("sh");
    let line = "trap '' HUP; exec \"$0\" run --no-report --output output --work-dir work \
                --subject host:mem=64M --runs 2 -- sleep 1";
    command.args(["-c", line]).arg(fixture.program());
    let mut running = fixture.start(command);
    fixture.await_text(&mut running, "001-noload", "\"phase\":\"measuring\"");
    let all = crate::left::processes(&fixture);
    all.iter().for_each(|process| send(process.pid, Signal::HUP));
    running.wait().expect(0, &[]);
    assert_eq!(fixture.run_file("001-noload").status(), EndStatus::Complete);
}

#[test]
fn comparing_and_watching_go_on_after_a_hang_up_that_is_ignored() {
    let compares = "ab command 'touch mark; sleep 0.3' 'sleep 0.3' --blocks 2 --work-dir work \
                    --output output --subject host:mem=64M";
    for (line, ends) in [(compares, true), ("doctor --for 200ms --watch >&2", false)] {
        let fixture = Fixture::new();
        let mut command = fixture.other("sh");
        command.args(["-c", &format!("trap '' HUP; exec \"$0\" {line}")]).arg(fixture.program());
        let (fixture, mut running) = (&fixture, fixture.start(command));
        let has_begun = |running: &crate::support::Running| match ends {
            true => fixture.path().join("mark").exists(),
            false => running.said().contains("Over "),
        };
        let until = Instant::now() + Duration::from_secs(120);
        while !has_begun(&running) {
            assert!(Instant::now() < until && running.ended().is_none(), "{}", running.said());
            std::thread::sleep(Duration::from_millis(20));
        }
        let all = crate::left::processes(fixture);
        all.iter().for_each(|process| send(process.pid, Signal::HUP));
        if ends {
            running.wait().expect(0, &[]);
            continue;
        }
        std::thread::sleep(Duration::from_millis(500));
        assert!(running.ended().is_none(), "{}", running.said());
        running.signal(Signal::INT);
        running.wait();
    }
}

#[test]
fn watching_ends_when_nobody_reads_any_more() {
    let fixture = Fixture::new();
    let mut command = fixture.thrashlab("doctor --for 200ms --watch");
    let (reader, writer) = std::io::pipe().unwrap();
    command.stdout(writer).stderr(fs::File::create(fixture.path().join("said")).unwrap());
    let mut child = command.spawn().unwrap();
    drop((command, reader));
    let deadline = Instant::now() + Duration::from_secs(120);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("it watches on");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn commands_are_compared_by_their_elapsed_time() {
    let fixture = Fixture::new();
    for (folder, time) in [("first", "0.02"), ("second", "0.08")] {
        let line = format!(
            "run --no-report --work-dir work --subject host:mem=64M --runs 6 --name nap \
             --output {folder} -- sleep {time}"
        );
        fixture.finish(fixture.thrashlab(&line)).expect(0, &[]);
    }
    let line = "compare first second --fail-on regression:30% --json";
    let finished = fixture.finish(fixture.thrashlab(line));
    finished.expect(1, &[]);
    let found: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    let cells = found["cells"].as_array().unwrap();
    let responses: Vec<&str> =
        cells.iter().map(|cell| cell["response"].as_str().unwrap()).collect();
    assert_eq!(responses, ["cpu_ns", "elapsed_ns"]);
}

#[test]
fn events_that_are_lost_are_an_error() {
    let fixture = Fixture::new();
    let finished = thrashlab(&fixture, &["--runs", "1", "--events", "/dev/full", "--", "true"]);
    finished.expect(3, &["the events are incomplete: No space left"]);
    says(&finished, "true takes");
}
