//! The doctor that runs until it is stopped: what it serves, what its black box has after it was
//! killed, and the files in `packaging/` that rely on both.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::skip::skip;
use crate::support::{Finished, Fixture, PATIENCE, Running, sandbox_works};

/// Interval of a watch here.
const INTERVAL: &str = "1s";

fn doctor(fixture: &Fixture, arguments: &str) -> Command {
    let mut command = fixture.thrashlab(&format!("doctor {arguments}"));
    command.env("XDG_CACHE_HOME", fixture.path().join("cache"));
    command
}

fn finished(fixture: &Fixture, arguments: &str) -> Finished {
    fixture.finish(doctor(fixture, arguments))
}

/// A watch under way, and its address where it serves.
fn watch(fixture: &Fixture, arguments: &str) -> (Running, Option<String>) {
    let arguments = format!("--for {INTERVAL} {arguments}");
    let mut watch = fixture.start_as("watch", doctor(fixture, &arguments));
    let said = fixture.path().join("watchstderr");
    let text = || fs::read_to_string(&said).unwrap();
    watch.await_that("it is ready", || text().contains(" until Ctrl-C"));
    let text = text();
    let address = text.split("http://").nth(1).and_then(|rest| rest.split('/').next());
    (watch, address.map(str::to_owned))
}

/// The answer to a request.
fn requested(address: &str, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn scrape(address: &str) -> String {
    requested(address, b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n")
}

/// A group that reads its file again and again; its name, once it does.
fn thrashing(fixture: &Fixture) -> (Running, String) {
    let load = "provoke-memcg-refault";
    let command = fixture.run_on(
        "sandbox:mem=46M",
        &format!("--load {load} --probe wake --interval 1s --points 60 --warmup 30s"),
    );
    let mut running = fixture.start_as("run", command);
    let path = fixture.output().join(format!("002-{load}.run.jsonl"));
    let read = || fs::read_to_string(&path).unwrap_or_default();
    running.await_that("the load is warm", || read().contains("\"phase\":\"warm\""));
    let name = format!("/thrashlab-{}-", running.pid());
    (running, name)
}

#[test]
fn a_group_that_thrashes_is_in_the_metrics_and_a_stop_ends_them() {
    if !sandbox_works() {
        let test = "a_group_that_thrashes_is_in_the_metrics_and_a_stop_ends_them";
        return skip(test, "this user cannot make sandboxes here");
    }
    let fixture = Fixture::new();
    let (watch, address) = watch(&fixture, "--serve 0");
    let address = address.unwrap();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    assert!(scrape(&address).ends_with("# EOF\n"));
    let (load, group) = thrashing(&fixture);
    let is_found = |text: &str| {
        text.lines().any(|line| {
            let found = line.starts_with("thrashlab_doctor_")
                && line.contains("rule=\"memcg-refault\",scope=\"group\"");
            found && line.contains(&group)
        })
    };
    let until = Instant::now() + PATIENCE;
    let mut text = scrape(&address);
    while !is_found(&text) {
        assert!(Instant::now() < until, "{group} is not in\n{text}");
        std::thread::sleep(Duration::from_millis(200));
        text = scrape(&address);
    }
    drop(load);
    assert!(requested(&address, b"\xff\xfe\r\n\r\n").starts_with("HTTP/1.1 400"));
    watch.signal(Signal::TERM);
    watch.wait().expect(0, &[]);
}

#[test]
fn a_doctor_that_only_reads_cannot_write() {
    let fixture = Fixture::new();
    let work = fixture.path().join("empty");
    fs::create_dir(&work).unwrap();
    let mut command = doctor(&fixture, "--read-only --for 10ms");
    command.current_dir(&work);
    fixture.finish(command).expect(0, &[]);
    assert!(!fixture.path().join("cache").exists());
    assert_eq!(fs::read_dir(&work).unwrap().count(), 0);
    let (watch, address) = watch(&fixture, "--serve 0 --read-only");
    // While it serves, each thread has the filter (proc_pid_status(5)).
    let tasks = fs::read_dir(format!("/proc/{}/task", watch.pid())).unwrap();
    for task in tasks.map(|task| task.unwrap().path()) {
        let status = fs::read_to_string(task.join("status")).unwrap();
        assert!(status.contains("Seccomp:\t2"), "{status}");
    }
    assert!(scrape(&address.unwrap()).ends_with("# EOF\n"));
    watch.signal(Signal::TERM);
    watch.wait().expect(0, &[]);
    for wrong in ["-o page.html", "--record new", "--calibrate", "--work-dir .", "-- true"] {
        finished(&fixture, &format!("--read-only {wrong}")).expect(2, &["--read-only"]);
    }
    finished(&fixture, "--read-only --openmetrics file").expect(2, &["`-` prints them"]);
}

#[test]
fn a_black_box_that_was_killed_names_who_suffered() {
    if !sandbox_works() {
        let test = "a_black_box_that_was_killed_names_who_suffered";
        return skip(test, "this user cannot make sandboxes here");
    }
    let fixture = Fixture::new();
    let (watch, _) = watch(&fixture, "--record box --max-size 4M");
    let again = finished(&fixture, "--record box --max-size 4M");
    again.expect(2, &["another recorder writes there"]);
    let (load, group) = thrashing(&fixture);
    let found = || {
        let replayed = finished(&fixture, "--replay box --at -1s --for 2s --json");
        let found: Option<Value> = serde_json::from_str(&replayed.stdout).ok();
        let findings = found.and_then(|found| found["findings"].as_array().cloned());
        findings.into_iter().flatten().any(|found| {
            let name = found["scope"]["group"].as_str().unwrap_or_default();
            found["rule"] == "memcg-refault" && name.contains(&group)
        })
    };
    let until = Instant::now() + PATIENCE;
    while !found() {
        assert!(Instant::now() < until, "{group} is not found");
        std::thread::sleep(Duration::from_millis(200));
    }
    watch.signal(Signal::KILL);
    drop((watch, load));
    assert!(found(), "what was recorded is on the disk");
    let text = finished(&fixture, "--replay box --at -1s --for 2s");
    text.expect(0, &[]);
    assert!(text.stdout.contains("Who filled the memory"), "{}", text.stdout);
    let outside = finished(&fixture, "--replay box --at 2001-01-01T00:00:00Z");
    outside.expect(2, &["nothing was recorded at 2001-01-01", "the recording is from"]);
    cut(&fixture);
}

/// A segment that was cut off is a shorter recording, and a new recorder continues after it.
fn cut(fixture: &Fixture) {
    let mut segments: Vec<PathBuf> = fs::read_dir(fixture.path().join("box"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    segments.retain(|path| path.extension().is_some_and(|end| end == "zst"));
    let last = segments.into_iter().max().unwrap();
    let length = fs::metadata(&last).unwrap().len();
    fs::OpenOptions::new().write(true).open(&last).unwrap().set_len(length - 7).unwrap();
    finished(fixture, "--replay box").expect(0, &[]);
    let (watch, _) = watch(fixture, "--record box --max-size 4M");
    std::thread::sleep(Duration::from_millis(1500));
    watch.signal(Signal::INT);
    watch.wait().expect(0, &[]);
    finished(fixture, "--replay box --at -0.1s").expect(0, &[]);
}

#[test]
fn options_that_do_not_fit_are_refused_with_what_does() {
    let fixture = Fixture::new();
    for (arguments, words) in [
        ("--serve --record a.jsonl", "needs --max-size"),
        ("--serve example.org", "the address has the form"),
        ("--record box --max-size 1M", "--max-size is at least 4M"),
        ("--max-size 8M", "--record"),
        ("--at 14:32", "--replay"),
        ("--replay none --at noon", "is not a time"),
        ("--replay none --at 14:32", "none"),
        ("--replay . --at 14:32", "there is no recording in this folder"),
        ("--serve --for 10ms", "at least 1s"),
        ("--serve --json", "cannot be used with"),
    ] {
        finished(&fixture, arguments).expect(2, &[words]);
    }
}

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging")
}

/// The metrics that `--serve` has, by the names of its families and their samples.
fn served() -> BTreeSet<String> {
    let fixture = Fixture::new();
    let (_watch, address) = watch(&fixture, "--serve 127.0.0.1:0");
    let text = scrape(&address.unwrap());
    let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let named = families.map(|family| match family.split_once(' ').unwrap() {
        (name, "counter") => format!("{name}_total"),
        (name, _) => name.to_owned(),
    });
    named.collect()
}

/// The names of metrics in a text.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !is_of_name(c));
    words.filter(|word| word.starts_with("thrashlab_")).map(str::to_owned).collect()
}

#[test]
fn alerts_and_dashboard_use_what_is_served_and_each_condition_has_an_alert() {
    let served = served();
    let alerts = fs::read_to_string(packaging().join("prometheus/alerts.yml")).unwrap();
    let dashboard = fs::read_to_string(packaging().join("grafana/thrashlab.json")).unwrap();
    let _: Value = serde_json::from_str(&dashboard).unwrap();
    for text in [&alerts, &dashboard] {
        let used = metrics_in(text);
        assert!(!used.is_empty());
        let unknown: Vec<_> = used.difference(&served).collect();
        assert!(unknown.is_empty(), "{unknown:?} are not among {served:?}");
    }
    for rule in doctor::ALL {
        let expression = format!("thrashlab_doctor_lost_ratio{{rule=\"{}\"", rule.name);
        assert!(alerts.contains(&expression), "{} has no alert", rule.name);
    }
    let alert_count = alerts.matches("- alert: ").count();
    assert_eq!(alert_count, doctor::ALL.len() + 1, "one per rule, and one for the doctor itself");
}

#[test]
fn the_units_of_systemd_are_valid() {
    let test = "the_units_of_systemd_are_valid";
    let fixture = Fixture::new();
    for name in ["thrashlab-blackbox.service", "thrashlab-doctor.service"] {
        let unit = fs::read_to_string(packaging().join("systemd").join(name)).unwrap();
        let program = env!("CARGO_BIN_EXE_thrashlab");
        // Only its place differs where it is not installed.
        let unit = unit.replace("/usr/bin/thrashlab", program);
        fs::write(fixture.path().join(name), &unit).unwrap();
        let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
        assert!(line.starts_with(program), "{line}");
        let mut verify = fixture.other("systemd-analyze");
        verify.args(["verify", name]);
        let Ok(output) = verify.output() else { return skip(test, "systemd-analyze is missing") };
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{name}: {said}");
    }
}
