//! What is wrong with a command line is found before any work begins, with what was meant; and a
//! command that did nothing leaves nothing.

use std::fs;
use std::process::Command;

use rustix::process::Signal;

use crate::support::{Finished, Fixture, sandbox_works};

fn finish(fixture: &Fixture, arguments: &[&str]) -> Finished {
    let mut command = fixture.thrashlab("");
    command.args(arguments);
    fixture.finish(command)
}

/// `thrashlab run` of a command into the usual folder.
fn run(fixture: &Fixture, options: &str, words: &[&str]) -> Command {
    let mut command = fixture.thrashlab("run --subject host:mem=64M");
    command.arg("--output").arg(fixture.output()).arg("--work-dir").arg(fixture.work());
    command.args(options.split_whitespace()).args(words);
    command
}

/// Words of a command that leaves a mark in its folder.
const MARKED: [&str; 3] = ["--", "touch", "mark"];

#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_command_starts() {
    let fixture = Fixture::new();
    let mark = fixture.path().join("mark");
    for (options, name) in [
        (["doctor", "-o"], "output"),
        (["doctor", "--openmetrics"], "openmetrics"),
        (["footprint", "-o"], "output"),
    ] {
        let arguments = [&options[..], &["/nonexistent/x.md"], &MARKED].concat();
        let missing = format!("--{name} /nonexistent/x.md: there is no folder /nonexistent");
        finish(&fixture, &arguments).expect(2, &[&missing]);
        let arguments = [&options[..], &["/"], &MARKED].concat();
        finish(&fixture, &arguments).expect(2, &["/: Is a directory"]);
        assert!(!mark.exists(), "{options:?}");
    }
    // Commands that only read files refuse it for the same reason.
    for arguments in ["show none -o /nonexistent/x", "report none -o /nonexistent/x"] {
        fixture.finish(fixture.thrashlab(arguments)).expect(2, &["no folder /nonexistent"]);
    }
}

#[test]
fn a_result_that_cannot_be_written_after_all_is_printed() {
    let fixture = Fixture::new();
    let found = finish(&fixture, &["doctor", "-o", "/dev/full", "--", "touch", "mark"]);
    found.expect(3, &["write /dev/full", "touch mark"]);
}

#[test]
fn options_without_effect_are_refused_with_the_one_that_was_meant() {
    let fixture = Fixture::new();
    for (options, words) in [
        ("run --warmup 3", "--warmup-runs N"),
        ("run --users 3", "--users <N>"),
        ("run --script /nonexistent", "--script <FILE>"),
        ("run --intensity 2", "--load"),
        ("run --intensity 2 --load noload", "--load"),
        ("run --wait", "--subject ssh://HOST"),
        ("run --output pipe", "what a command prints is not shown"),
    ] {
        let arguments: Vec<&str> = options.split(' ').chain(MARKED).collect();
        finish(&fixture, &arguments).expect(2, &[words]);
        assert!(!fixture.path().join("mark").exists(), "{options}");
    }
    for (arguments, words) in [
        ("bisect --run true --range 1..3 -o x", "--output <DIR>"),
        ("bisect --run true --range 1..3 --factor x", "--factor <FACTOR>"),
        ("bisect --run true --range 1..3 --git a..b", "--git <GOOD..BAD>"),
        ("bisect plan.toml --exit-code", "--exit-code"),
        ("bisect plan.toml --values 1,2", "--values <A,B,C>"),
    ] {
        fixture.finish(fixture.thrashlab(arguments)).expect(2, &[words, "cannot be used with"]);
    }
}

#[test]
fn a_command_without_its_dashes_and_options_of_hyperfine_have_a_tip() {
    let fixture = Fixture::new();
    for (arguments, tip) in [
        ("run true", "thrashlab run -- true"),
        ("run --runs 3 sleep 1", "thrashlab run --runs 3 -- sleep 1"),
        ("doctor --for 3s make all", "thrashlab doctor --for 3s -- make all"),
        ("footprint sleep 1", "thrashlab footprint -- sleep 1"),
        ("limit sort big", "thrashlab limit -- sort big"),
        ("run -N true", "--shell none"),
        ("run -w 3 true", "--warmup-runs N"),
        ("gzip -9 big", "thrashlab run -- gzip -9 big"),
        ("ab ./a ./b", "thrashlab ab command ./a ./b"),
        ("run --export-json=x -- true", "thrashlab export RESULTS --format hyperfine"),
        ("run --show-output -- true", "what a command prints is not shown"),
        ("run --min-runs 5 -- true", "--runs N"),
    ] {
        fixture.finish(fixture.thrashlab(arguments)).expect(2, &["tip: ", tip]);
    }
    // Commands without one have no such tip.
    let found = fixture.finish(fixture.thrashlab("show a b"));
    found.expect(2, &[]);
    assert!(!found.stderr.contains("--: thrashlab"), "{found:?}");
}

#[test]
fn what_is_no_address_of_a_service_is_not_taken_for_a_command() {
    let fixture = Fixture::new();
    for ready in ["70000", "localhost", "localhost:0x", "output:", "127.0.0.1", "example.org"] {
        let arguments = ["run", "--service", "sleep 9", "--client", "touch mark", "--ready", ready];
        let found = finish(&fixture, &[&arguments[..], &["--start-limit", "200ms"]].concat());
        // A name may be that of a program.
        let code = if ["example.org", "localhost:0x"].contains(&ready) { 3 } else { 2 };
        found.expect(code, &[]);
        assert!(!found.stderr.trim_end().ends_with(':'), "{found:?}");
        assert!(!fixture.path().join("mark").exists(), "{ready}");
    }
}

#[test]
fn a_failed_start_has_its_reason_and_leaves_no_folder() {
    let fixture = Fixture::new();
    fs::write(fixture.path().join("script"), "echo hi\n").unwrap();
    fs::create_dir(fixture.path().join("folder")).unwrap();
    for (command, reason) in [
        ("./script", "./script may not be executed: chmod +x ./script"),
        ("./folder", "is a folder, and no program"),
        ("./absent", "there is no program \"./absent\""),
    ] {
        fixture.finish(run(&fixture, "--runs 1", &["--", command])).expect(3, &[reason]);
        assert!(!fixture.output().exists(), "{command}");
    }
    fixture.finish(run(&fixture, "--runs 1 --no-report", &["--", "true"])).expect(0, &[]);
    // What was measured stays.
    fixture
        .finish(run(&fixture, "--runs 1", &["--", "./absent"]))
        .expect(2, &["holds runs already"]);
    assert!(fixture.output().join("001-noload.run.jsonl").exists());
}

#[test]
fn a_failed_start_of_a_search_leaves_no_folder() {
    let fixture = Fixture::new();
    let work = fixture.work();
    let mut cases = vec!["ab command ./absent ./missing --subject host:mem=64M"];
    // Memory is limited in a sandbox only.
    cases.extend(sandbox_works().then_some("limit --range 64M..32M -- ./absent"));
    for arguments in cases {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let mut command = fixture.thrashlab("");
        command.arg(arguments[0]).arg("--output").arg(fixture.output());
        command.arg("--work-dir").arg(&work).args(&arguments[1..]);
        let found = fixture.finish(command);
        found.expect(3, &["there is no program", "nothing was measured"]);
        assert!(!fixture.output().exists(), "{found:?}");
    }
}

#[test]
fn a_failed_start_of_a_whole_experiment_leaves_no_folder() {
    let fixture = Fixture::new();
    let plan = "name = \"starts\"\nblocks = 2\n[base]\njob = \"command\"\n\
                subject = \"host\"\n\"command.runs\" = \"1\"\n[[factor]]\nname = \"command\"\n\
                parameter = \"command.run\"\nlevels = [\"./absent\", \"PROGRAM\"]\n";
    let run = |program: &str| {
        fs::write(fixture.path().join("plan.toml"), plan.replace("PROGRAM", program)).unwrap();
        fixture.finish(fixture.thrashlab("experiment plan.toml --output output --work-dir work"))
    };
    run("./missing").expect(3, &["no run was started", "./absent", "nothing was measured"]);
    assert!(!fixture.output().exists());
    // A level that cannot be started is a result next to one that can.
    run("true").expect(0, &["ended as Failed"]);
    assert!(fixture.output().exists());
}

#[test]
fn words_of_a_shell_are_executed_by_one() {
    let fixture = Fixture::new();
    let words = ["--command", "ulimit -s", "--command", "exec true", "--command", "cd ."];
    fixture.finish(run(&fixture, "--runs 1 --no-report", &words)).expect(0, &[]);
}

#[test]
fn a_report_replaces_nothing_but_a_report() {
    let fixture = Fixture::new();
    let page = fixture.output().join("report.html");
    fs::create_dir(fixture.output()).unwrap();
    fs::write(&page, "mine").unwrap();
    let found = fixture.finish(run(&fixture, "--runs 1 -q", &["--", "true"]));
    found.expect(0, &["no report was written", "is not a report of thrashlab"]);
    assert_eq!(fs::read(&page).unwrap(), b"mine");
    fs::write(fixture.path().join("report.html"), "mine").unwrap();
    fixture.finish(fixture.thrashlab("report output")).expect(2, &["name a file with -o"]);
    assert_eq!(fs::read(fixture.path().join("report.html")).unwrap(), b"mine");
    fs::remove_file(fixture.path().join("report.html")).unwrap();
    for _ in 0..2 {
        fixture.finish(fixture.thrashlab("report output")).expect(0, &["wrote report.html"]);
    }
}

#[test]
fn an_interruption_runs_what_cleans_up() {
    let fixture = Fixture::new();
    let hooks = ["--setup", "touch made", "--cleanup", "rm made && touch cleaned"];
    let words = [&hooks[..], &["--", "sleep", "60"]].concat();
    let mut running = fixture.start(run(&fixture, "--no-report", &words));
    let made = fixture.path().join("made");
    running.await_that("the setup", || made.exists());
    running.signal(Signal::INT);
    running.wait().expect(130, &["--cleanup was run"]);
    assert!(!made.exists() && fixture.path().join("cleaned").exists());
}

#[test]
fn the_table_of_a_command_has_its_repetitions() {
    let fixture = Fixture::new();
    fixture.finish(run(&fixture, "--runs 3 --no-report", &["--", "true"])).expect(0, &[]);
    let found = fixture.finish(fixture.thrashlab("export output --format csv"));
    found.expect(0, &[]);
    assert_eq!(found.stdout.lines().count(), 4, "{found:?}");
    assert!(found.stdout.starts_with("run,run_id,load,") && found.stdout.contains(",true,"));
}

#[test]
fn a_command_without_a_load_has_no_columns_of_loads() {
    let fixture = Fixture::new();
    let found = fixture.finish(run(&fixture, "--runs 3 --no-report", &["--", "true"]));
    found.expect(0, &[]);
    assert!(found.stdout.contains("elapsed time of a repetition"), "{found:?}");
    assert!(!found.stdout.contains("noload") && !found.stdout.contains("×1.00"), "{found:?}");
}

#[test]
fn a_control_group_has_one_name() {
    let fixture = Fixture::new();
    let found = fixture.finish(fixture.thrashlab("footprint --cgroup no/such --no-clear"));
    found.expect(2, &["there is no control group no/such"]);
    // The root of every hierarchy, under the names that `run` knows.
    for name in ["/", "."] {
        let words = format!("footprint --no-clear --top 1 --cgroup {name}");
        let found = fixture.finish(fixture.thrashlab(&words));
        assert!(!found.stderr.contains("no control group"), "{found:?}");
    }
}
