//! Delay accounting and what is derived from it. A test program of its own: the switch is the whole
//! machine's, and other tests' runs would keep it on.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

#[path = "../system/left.rs"]
mod left;
#[path = "../../../../../tests/skip.rs"]
mod skip;
#[path = "../system/support.rs"]
#[expect(dead_code, reason = "shared with the system tests")]
mod support;

use std::fs;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use left::{assert_nothing_left, child_of, queue_keys};
use skip::skip;
use support::{Fixture, Running, send};

const SWITCH: &str = "/proc/sys/kernel/task_delayacct";

/// One test at a time: there is one switch.
static TURN: Mutex<()> = Mutex::new(());

fn is_on() -> bool {
    fs::read_to_string(SWITCH).unwrap().trim() == "1"
}

/// Whether the switch can be seen to change; otherwise the test is skipped.
fn can_switch(test: &str) -> bool {
    let allowed = fs::OpenOptions::new().write(true).open(SWITCH).is_ok();
    if !allowed {
        skip(test, "delay accounting cannot be switched here");
    } else if is_on() {
        skip(test, "delay accounting is on here anyway");
    }
    allowed && !is_on()
}

/// A run on the host that measures.
fn measuring(fixture: &Fixture) -> Running {
    let arguments = "--load noload --points 200 --interval 100ms";
    let mut running = fixture.start(fixture.run_on("host:mem=64M", arguments));
    fixture.await_text(&mut running, "001-noload", "\"kind\":\"sample\"");
    running
}

fn await_off() {
    let until = Instant::now() + Duration::from_secs(10);
    while is_on() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!is_on(), "delay accounting was not put back");
}

#[test]
fn delays_are_counted_until_the_last_one_ends_however_it_ends() {
    const NAME: &str = "delays_are_counted_until_the_last_one_ends_however_it_ends";
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !can_switch(NAME) {
        return;
    }
    let (first, second) = (Fixture::new(), Fixture::new());
    let killed = measuring(&first);
    let other = measuring(&second);
    assert!(is_on());
    let (pid, queues) = (killed.pid(), queue_keys(&first));
    killed.signal(Signal::KILL);
    killed.wait();
    assert_nothing_left(&first, pid, &queues);
    assert!(is_on(), "the other one still measures");
    other.signal(Signal::INT);
    other.wait().expect(130, &[]);
    await_off();

    let third = Fixture::new();
    let killed = measuring(&third);
    killed.signal(Signal::KILL);
    killed.wait();
    await_off();
}

#[test]
fn what_a_power_cut_left_on_is_put_back_by_the_next_start() {
    const NAME: &str = "what_a_power_cut_left_on_is_put_back_by_the_next_start";
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !can_switch(NAME) {
        return;
    }
    let fixture = Fixture::new();
    let running = measuring(&fixture);
    let (pid, queues) = (running.pid(), queue_keys(&fixture));
    send(child_of(&fixture, pid, "cleanup").unwrap(), Signal::KILL);
    drop(running);
    assert!(is_on(), "no process was left to put it back");
    let arguments = "--load noload --points 1 --interval 10ms --output next";
    let next = fixture.finish(fixture.run_on("host:mem=64M", arguments));
    next.expect(0, &["had left: delay accounting"]);
    await_off();
    assert_nothing_left(&fixture, pid, &queues);
}

#[test]
fn parts_sum_to_the_delay_and_what_has_no_source_is_unknown() {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let fixture = Fixture::new();
    let arguments = "--load cpuload --points 4 --interval 100ms";
    fixture.finish(fixture.run_on("host:mem=64M", arguments)).expect(0, &[]);
    let counted = fixture.run_file("002-cpuload");
    let header = counted.header.as_ref().unwrap();
    let missed = |name: &str| header.missed.iter().any(|missed| missed.capability == name);
    let samples = analysis::explained::explain_run(&counted);
    assert_eq!(samples.len(), 4);
    for (sample, explained) in &samples {
        assert_eq!(explained.delay_ns, sample.delay_ns());
        let sum_ns: u64 = explained.parts_ns.values().flatten().sum();
        assert_eq!(sum_ns, explained.delay_ns);
        use analysis::explained::Part;
        for (part, source, counter) in [
            (Part::User, "rusage", "user_ns"),
            (Part::CpuWait, "schedstat", "wait_ns"),
            (Part::BlockIo, "taskstats", "blkio_delay_total_ns"),
            (Part::Reclaim, "taskstats", "freepages_delay_total_ns"),
        ] {
            // A wait that the kernel books wrongly is absent, or the counter of one whose two clocks
            // differ falls: either is unknown in its samples alone.
            let [before, after] = [&sample.before, &sample.after]
                .map(|set| set.get(source).map(|counters| counters.get(counter).copied()));
            let is_booked = match (before.flatten(), after.flatten()) {
                (Some(before), Some(after)) => before <= after,
                _ => before.is_none() || after.is_none(),
            };
            let is_unknown = missed(source) || part != Part::User && !is_booked;
            assert_eq!(explained.parts_ns[&part].is_none(), is_unknown, "{part:?}");
        }
        // Nobody counts it where there is no control group of ours.
        assert_eq!(explained.parts_ns[&Part::Throttled], None);
    }
    let told = fixture.finish(fixture.thrashlab("show output --json --worst 2"));
    told.expect(0, &[]);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    let loads = told["why_slow"].as_array().unwrap();
    let names: Vec<&str> = loads.iter().map(|load| load["load"].as_str().unwrap()).collect();
    assert_eq!(names, ["noload", "cpuload"]);
    for load in loads {
        assert!(load["worst"].as_array().unwrap().len() <= 2);
        for worst in load["worst"].as_array().unwrap() {
            let parts = worst["parts_ns"].as_object().unwrap();
            assert!(parts["throttled"].is_null(), "{parts:?}");
            let sum_ns: u64 = parts.values().filter_map(Value::as_u64).sum();
            assert_eq!(Some(sum_ns), worst["delay_ns"].as_u64());
        }
    }
}
