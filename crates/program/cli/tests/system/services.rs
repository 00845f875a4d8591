//! Services that are started and measured by their clients, and groups that are there already.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use model::{EndStatus, Line, WorkRecord};
use rustix::process::Signal;

use crate::left::{assert_nothing_left, processes, queue_keys};
use crate::skip::skip;
use crate::support::{Fixture, sandbox_works};

/// A server that writes where it is, and is ready then.
const SERVER: &str = "cat /proc/self/cgroup > server; echo ready now; exec sleep 60";
/// A client that writes where it is, and prints a time and a rate.
const CLIENT: &str = "cat /proc/self/cgroup > client; echo 'p99: 4.5 ms'; echo 'tps = 12'";

/// `thrashlab run` with a service in the smallest subject that this machine allows.
fn served(fixture: &Fixture, service: &str, arguments: &[&str]) -> Command {
    let subject = if sandbox_works() { "sandbox:mem=64M" } else { "host:mem=64M" };
    let mut command = fixture.thrashlab("run --no-report --output output --work-dir work");
    command.args(["--subject", subject, "--service", service]).args(arguments);
    command
}

fn works(fixture: &Fixture, name: &str) -> Vec<WorkRecord> {
    let lines = fixture.run_file(name).lines.into_iter();
    lines.filter_map(|line| if let Line::Work(work) = line { Some(*work) } else { None }).collect()
}

#[test]
fn a_service_is_inside_the_limits_and_its_client_is_measured_outside() {
    let fixture = Fixture::new();
    let metrics = ["--metric", "p99: ([0-9.]+) ms", "--metric", "tps = ([0-9]+)"];
    let client = ["--ready", "output:ready now", "--runs", "4", "--client", CLIENT];
    let command = served(&fixture, SERVER, &[&client[..], &metrics].concat());
    let finished = fixture.finish(command);
    finished.expect(0, &[]);
    let text = finished.sentences();
    for words in ["p99_ns is 4.50ms", "tps_per_s is 12 /s"] {
        assert!(text.contains(words), "{words:?} is not in {finished:#?}");
    }
    let works = works(&fixture, "001-noload");
    assert_eq!(works.len(), 4);
    for work in &works {
        assert_eq!((work.figures["p99_ns"], work.figures["tps_per_s"]), (4.5e6, 12.0));
    }
    let place = |name: &str| fs::read_to_string(fixture.path().join(name)).unwrap();
    assert_eq!(place("server") != place("client"), sandbox_works(), "{}", place("server"));
    assert_nothing_left(&fixture, 0, &queue_keys(&fixture));
}

#[test]
fn a_service_that_dies_or_is_late_ends_its_run_with_its_last_words() {
    let fixture = Fixture::new();
    let ready = ["--ready", "output:up", "--start-limit", "400ms", "--client", "sleep 2"];
    let cleanup = ["--cleanup", "echo cleaned > cleaned"];
    for (service, words) in [
        ("echo up; sleep 0.6; echo broken >&2; exit 7", "ended with code 7: up; broken"),
        ("echo almost; sleep 30", "is not ready after 400ms: almost"),
        ("echo no disk; exit 3", "ended with code 3: no disk"),
    ] {
        let arguments = [&ready[..], &cleanup].concat();
        let finished = fixture.finish(served(&fixture, service, &arguments));
        fs::remove_file(fixture.path().join("cleaned")).unwrap();
        assert!(matches!(finished.code(), Some(1 | 3)), "{finished:#?}");
        if finished.code() == Some(3) {
            // Nothing was measured.
            finished.expect(3, &[words]);
            assert!(!fixture.output().exists(), "{service}");
            assert_nothing_left(&fixture, 0, &queue_keys(&fixture));
            continue;
        }
        let run = fixture.run_file("001-noload");
        assert_eq!(run.status(), EndStatus::Failed, "{service}");
        let deaths = run.lines.iter().filter_map(|line| match line {
            Line::Death(death) => Some(death.cause.clone()),
            _ => None,
        });
        let deaths: Vec<String> = deaths.collect();
        assert!(deaths[0].contains(words), "{service}: {deaths:?}");
        let works = works(&fixture, "001-noload").into_iter();
        let failures: Vec<String> = works.filter_map(|work| work.failure).collect();
        assert!(failures.iter().all(|why| why == "its service ended"), "{failures:?}");
        assert_nothing_left(&fixture, 0, &queue_keys(&fixture));
        fs::remove_dir_all(fixture.output()).unwrap();
    }
}

#[test]
fn a_service_that_does_not_stop_is_killed_and_named() {
    let fixture = Fixture::new();
    let service = "trap '' TERM; echo up; while :; do sleep 0.2; done";
    let client = ["--ready", "output:up", "--runs", "2", "--client", "true"];
    let finished = fixture.finish(served(&fixture, service, &client));
    finished.expect(0, &[]);
    let words = "did not end within 10.0s of SIGTERM: killed";
    assert!(finished.sentences().contains(words), "{finished:#?}");
    assert_nothing_left(&fixture, 0, &queue_keys(&fixture));
}

#[test]
fn a_service_that_loses_a_process_at_its_limit_has_run_out_of_memory() {
    const NAME: &str = "a_service_that_loses_a_process_at_its_limit_has_run_out_of_memory";
    if !sandbox_works() {
        return skip(NAME, "this user cannot make sandboxes here");
    }
    let fixture = Fixture::new();
    // As a server whose worker is started again: it lives on.
    let service = "echo up; sleep 0.3; tail /dev/zero; exec sleep 60";
    let client = ["--ready", "output:up", "--runs", "2", "--client", "sleep 1.5"];
    let finished = fixture.finish(served(&fixture, service, &client));
    assert_eq!(finished.code(), Some(1), "{finished:#?}");
    let run = fixture.run_file("001-noload");
    assert_eq!(run.status(), EndStatus::OutOfMemory, "{finished:#?}");
    let lines = String::from_utf8(fixture.run_bytes("001-noload")).unwrap();
    assert!(lines.contains("killed a process of the service for lack of memory"), "{lines}");
}

#[test]
fn what_a_hook_leaves_running_can_still_write() {
    let fixture = Fixture::new();
    let setup = "(sleep 0.3; echo late >&2; echo x > alive) & true";
    let arguments = ["--setup", setup, "--runs", "1", "--", "sleep", "1"];
    let mut run = fixture.thrashlab("run --no-report --output output --work-dir work");
    run.args(["--subject", "host:mem=64M"]).args(arguments);
    fixture.finish(run).expect(0, &[]);
    assert!(fixture.path().join("alive").exists());
}

#[test]
fn a_process_that_has_ended_has_no_group_to_measure() {
    let fixture = Fixture::new();
    // Nobody waits for it.
    let mut ended = Command::new("true").spawn().unwrap();
    let stat = format!("/proc/{}/stat", ended.id());
    while !fs::read_to_string(&stat).unwrap().contains(") Z ") {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pid = ended.id().to_string();
    let mut run = fixture.thrashlab("run --no-report --output output --work-dir work --runs 1");
    run.args(["--pid", &pid, "--", "true"]);
    let reason = format!("process {pid} has ended and waits for its parent");
    fixture.finish(run).expect(3, &[&reason]);
    ended.wait().unwrap();
}

#[test]
fn a_service_whose_place_is_taken_is_not_measured() {
    let fixture = Fixture::new();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port().to_string();
    let command = served(&fixture, SERVER, &["--ready", &port, "--client", "true"]);
    fixture.finish(command).expect(3, &["something else is ready before the service"]);
    assert!(!fixture.path().join("server").exists(), "it was not started");
}

#[test]
fn a_killed_thrashlab_leaves_no_service_behind() {
    let fixture = Fixture::new();
    let client = ["--ready", "output:ready now", "--client", "sleep 50"];
    let mut running = fixture.start(served(&fixture, SERVER, &client));
    let has_server = || processes(&fixture).iter().any(|it| it.command.contains("sleep 60"));
    running.await_that("the service", has_server);
    let pid = running.pid();
    running.signal(Signal::KILL);
    running.wait();
    assert_nothing_left(&fixture, pid, &queue_keys(&fixture));
}

/// A memory control group with a process, removed when dropped.
pub(crate) struct Group {
    pub(crate) folder: PathBuf,
    limit: PathBuf,
    process: Child,
}

impl Group {
    /// The group of a test; `None` where this user cannot make one.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let name = format!("thrashlab-test-{}-{test}", std::process::id());
        let (root, limit) =
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]
                .into_iter()
                .find(|(root, _)| Path::new(root).join("cgroup.procs").exists())?;
        let folder = Path::new(root).join(name);
        fs::create_dir(&folder).ok()?;
        let enter = format!("echo 0 > {}/cgroup.procs && exec sleep 300", folder.display());
        let mut shell = Command::new("sh");
        let process = shell.args(["-c", &enter]).stdin(Stdio::null()).spawn().unwrap();
        let limit = folder.join(limit);
        let mut group = Self { folder, limit, process };
        let procs = group.folder.join("cgroup.procs");
        while fs::read_to_string(&procs).ok()?.is_empty() {
            let has_ended = group.process.try_wait().unwrap().is_some();
            assert!(!has_ended, "the shell cannot enter {}", procs.display());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        fs::write(&group.limit, (1_u64 << 30).to_string()).ok().map(|()| group)
    }

    fn limit(&self) -> String {
        fs::read_to_string(&self.limit).unwrap().trim().to_owned()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir(&self.folder);
    }
}

#[test]
fn the_limit_of_an_existing_group_is_lowered_and_restored_even_after_sigkill() {
    const NAME: &str = "the_limit_of_an_existing_group_is_lowered_and_restored_even_after_sigkill";
    let Some(group) = Group::new("limit") else {
        return skip(NAME, "this user cannot make control groups here");
    };
    let fixture = Fixture::new();
    let limit = |more: &str| {
        let options = "limit --output output --work-dir work --over subject.max --runs 1";
        let mut command = fixture.thrashlab(&format!("{options} {more}"));
        command.arg("--cgroup").arg(&group.folder).args(["--", "sleep", "0.2"]);
        command
    };
    fixture.finish(limit("--floor 512M")).expect(2, &["add --yes"]);
    fixture.finish(limit("--yes")).expect(2, &["--floor"]);
    let before = group.limit();
    let mut lowered = fixture.thrashlab("run --no-report --output low --work-dir work --runs 2");
    let subject = format!("group:path={},max=512M", group.folder.display());
    lowered.args(["--subject", &subject, "--", "sleep", "0.1"]);
    fixture.finish(lowered).expect(0, &[]);
    let lines = fs::read_to_string(fixture.path().join("low/001-noload.run.jsonl")).unwrap();
    assert!(lines.contains(&format!("\"limit_bytes\":{}", 512 << 20)), "{lines}");
    assert_eq!(group.limit(), before);
    let mut running = fixture.start(limit("--yes --range 512M..256M"));
    running.await_that("the lowered limit", || group.limit() == (512 << 20).to_string());
    let pid = running.pid();
    running.signal(Signal::KILL);
    running.wait();
    assert_nothing_left(&fixture, pid, &queue_keys(&fixture));
    assert_eq!(group.limit(), before);

    // What the group has is measured, and a limit above its own changes nothing.
    let mut run = fixture.thrashlab("run --no-report --output seen --work-dir work --runs 2");
    let subject = format!("group:path={},max=2G", group.folder.display());
    run.args(["--subject", &subject, "--", "sleep", "0.1"]);
    let finished = fixture.finish(run);
    finished.expect(0, &[]);
    assert!(finished.sentences().contains("the control group /sys/fs/cgroup"), "{finished:#?}");
    let lines = fs::read_to_string(fixture.path().join("seen/001-noload.run.jsonl")).unwrap();
    assert!(lines.contains(&format!("\"limit_bytes\":{before}")), "{lines}");
}
