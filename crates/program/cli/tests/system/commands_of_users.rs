//! The user's own commands: what is typed after `--`.

use std::fs;
use std::process::Command;

use model::{EndStatus, Line, WorkRecord};

use crate::left::{assert_nothing_left, queue_keys};
use crate::support::{Finished, Fixture, sandbox_works};

/// `thrashlab run` with a command of the user in the smallest subject that this machine allows.
fn timed(fixture: &Fixture, arguments: &[&str]) -> Command {
    let subject = if sandbox_works() { "sandbox:mem=64M" } else { "host:mem=64M" };
    let mut command = fixture.thrashlab("run --no-report --output output --work-dir work");
    command.args(["--subject", subject]).args(arguments);
    command
}

/// The result, if the command ended with this code and its result has these words.
fn shows(finished: &Finished, code: i32, words: &[&str]) -> String {
    finished.expect(code, &[]);
    let text = finished.sentences();
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {finished:#?}");
    }
    text
}

/// The work lines of the run without load.
fn works(fixture: &Fixture, name: &str) -> Vec<WorkRecord> {
    let lines = fixture.run_file(name).lines.into_iter();
    lines.filter_map(|line| if let Line::Work(work) = line { Some(*work) } else { None }).collect()
}

#[test]
fn a_command_is_repeated_and_its_time_is_right() {
    let fixture = Fixture::new();
    let run = timed(&fixture, &["--runs", "6", "--", "sleep", "0.05"]);
    let finished = fixture.finish(run);
    shows(&finished, 0, &["sleep 0.05 takes"]);
    let works = works(&fixture, "001-noload");
    assert_eq!(works.len(), 6);
    for work in &works {
        let elapsed_ns = work.completed_ns.unwrap() - work.started_ns;
        assert!((50_000_000..2_000_000_000).contains(&elapsed_ns), "{elapsed_ns}");
        assert!(work.usage["peak_bytes"] > 100_000, "{:?}", work.usage);
    }
}

#[test]
fn repetitions_are_as_many_as_the_help_says() {
    let help = Fixture::new();
    let help = help.finish(help.thrashlab("run --help")).sentences();
    let said = "[default: 3 s of all commands together, but at least 10 and at most 1000 of each, \
                judged by the first one; 5 if that takes over 30 s;";
    assert!(help.contains(said), "{help}");
    // One command ends soon; two do; two need more than 3 s for ten repetitions.
    for commands in [&["true"][..], &["sleep 0.04", "sleep 0.06"], &["sleep 0.1", "sleep 0.3"]] {
        let fixture = Fixture::new();
        let arguments = commands.iter().flat_map(|command| ["--command", command]);
        let finished = fixture.finish(timed(&fixture, &arguments.collect::<Vec<_>>()));
        finished.expect(0, &[]);
        let works = works(&fixture, "001-noload");
        let first = works.iter().filter(|work| work.pass == 0);
        let first_ns: u64 = first.map(|work| work.completed_ns.unwrap() - work.started_ns).sum();
        let expected = 3_000_000_000_u64.div_ceil(first_ns).clamp(10, 1000);
        assert_eq!(works.len() as u64, expected * commands.len() as u64, "{commands:?}");
    }
}

#[test]
fn several_commands_are_run_in_turn_and_compared_with_the_first() {
    let fixture = Fixture::new();
    let commands = ["--command", "sleep 0.02", "--command", "sleep 0.1", "--runs", "5"];
    let finished = fixture.finish(timed(&fixture, &commands));
    shows(&finished, 0, &["sleep 0.1 takes", "times that of the first command"]);
    let works = works(&fixture, "001-noload");
    let passes: Vec<u32> = works.iter().map(|work| work.pass).collect();
    assert_eq!(passes, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
    let orders: Vec<bool> = works.chunks(2).map(|pair| pair[0].item < pair[1].item).collect();
    assert!(orders.contains(&true) && orders.contains(&false), "each order occurs: {orders:?}");
}

#[test]
fn a_command_that_cannot_be_repeated_in_its_folder_gets_views_of_it() {
    let fixture = Fixture::new();
    let folder = fixture.path();
    fs::write(folder.join("in"), "kept").unwrap();
    // As `gzip -k`: it refuses to overwrite what it created.
    let line = "test ! -e out && cp in out && echo changed >> in";
    let finished = fixture.finish(timed(&fixture, &["--runs", "4", "--command", line]));
    let text = finished.sentences();
    if text.contains("private view of its folder is not available") {
        shows(&finished, 1, &["worked once and then failed"]);
        return;
    }
    shows(&finished, 0, &["worked once and then failed", "without out"]);
    assert!(works(&fixture, "001-noload").iter().all(|work| work.failure.is_none()));
    assert_eq!(fs::read_to_string(folder.join("out")).unwrap(), "kept", "the first one's output");
    let text = fs::read_to_string(folder.join("in")).unwrap();
    assert_eq!(text, "keptchanged\n", "only the first repetition changed the folder itself");
}

#[test]
fn a_failure_is_the_result_and_the_exit_code() {
    let fixture = Fixture::new();
    let run = timed(&fixture, &["--", "sh", "-c", "echo no such luck >&2; exit 7"]);
    shows(&fixture.finish(run), 1, &["never worked: exit code 7: no such luck"]);
    let run = fixture.run_file("001-noload");
    assert_eq!(run.status(), EndStatus::Failed);
    let missing = Fixture::new();
    let run = timed(&missing, &["--", "no-such-program"]);
    missing.finish(run).expect(3, &["there is no program \"no-such-program\"", "search path"]);
}

#[test]
fn a_command_that_takes_too_long_is_a_lower_bound_and_leaves_nothing() {
    let fixture = Fixture::new();
    // It leaves a process in a session of its own.
    let line = "setsid sleep 300 & sleep 300";
    let arguments = ["--command-limit", "300ms", "--command", line];
    let running = fixture.start(timed(&fixture, &arguments));
    let pid = running.pid();
    shows(&running.wait(), 1, &["takes ≥ 3"]);
    assert_nothing_left(&fixture, pid, &queue_keys(&fixture));
    assert_eq!(fixture.run_file("001-noload").status(), EndStatus::Timeout);
}

#[test]
fn hooks_run_when_they_should_and_failures_can_be_ignored() {
    let fixture = Fixture::new();
    let run = timed(
        &fixture,
        &[
            "--runs",
            "3",
            "--setup",
            "echo setup >> log",
            "--prepare",
            "echo prepare >> log",
            "--cleanup",
            "echo cleanup >> log",
            "--ignore-failure",
            "--",
            "sh",
            "-c",
            "echo run >> log; false",
        ],
    );
    shows(&fixture.finish(run), 0, &["never worked: exit code 1"]);
    let log = fs::read_to_string(fixture.path().join("log")).unwrap();
    let log: Vec<&str> = log.lines().collect();
    let one = ["prepare", "run"];
    assert_eq!(log, [&["setup"][..], &one, &one, &one, &["cleanup"]].concat());
}

#[test]
fn a_failing_hook_is_named_with_what_it_printed_and_the_run_has_failed() {
    let line = "echo no such luck >&2; exit 7";
    for (option, name, code) in
        [("--setup", "setup", 3), ("--prepare", "prepare", 3), ("--cleanup", "cleanup", 1)]
    {
        let fixture = Fixture::new();
        let finished =
            fixture.finish(timed(&fixture, &[option, line, "--runs", "2", "--", "true"]));
        finished.expect(code, &[]);
        let said = format!("{} {}", finished.sentences(), finished.stderr);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = format!("the {name} command {line:?} failed: exit code 7: no such luck");
        assert!(said.contains(&expected), "{finished:#?}");
        match code {
            // Nothing was measured.
            3 => assert!(!fixture.output().exists()),
            _ => assert_eq!(fixture.run_file("001-noload").status(), EndStatus::Failed),
        }
    }
}

#[test]
fn a_missing_input_or_folder_is_named_and_nothing_is_left() {
    for (arguments, words) in [
        (&["--input", "no-file", "--", "true"], "the input of the command, no-file: No such file"),
        (
            &["--set", "command.folder=/no-folder", "--", "true"],
            "the folder of the command, /no-folder: No such file",
        ),
    ] {
        let fixture = Fixture::new();
        fixture.finish(timed(&fixture, arguments)).expect(3, &[words]);
        assert!(!fixture.output().exists());
    }
}

#[test]
fn a_command_may_write_any_amount_to_standard_error() {
    let fixture = Fixture::new();
    let line = "head -c 1000000 /dev/zero >&2 && echo >&2 && echo last >&2 && exit 5";
    let finished = fixture.finish(timed(&fixture, &["--runs", "2", "--command", line]));
    shows(&finished, 1, &["never worked: exit code 5: last"]);
}
