//! The temporary swap file. A test program of its own: swap is the whole machine's, and the memory
//! loads of other tests are planned for what there is.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

#[path = "../system/left.rs"]
mod left;
#[path = "../../../../../tests/skip.rs"]
mod skip;
#[path = "../system/support.rs"]
#[expect(dead_code, reason = "shared with the system tests")]
mod support;

use std::fs;
use std::time::Duration;

use rustix::process::Signal;

use left::{assert_nothing_left, child_of, queue_keys};
use skip::skip;
use support::{Fixture, Running, send};

/// A run with a swap file that has reached the load, unless this machine does not allow that.
fn swapping(fixture: &Fixture) -> Option<Running> {
    let mut running = fixture.start(fixture.run("--swap 64M --load 2ctx-mem --points 3"));
    while running.ended().is_none() {
        if String::from_utf8_lossy(&fixture.run_bytes("002-2ctx-mem")).contains("\"warming\"") {
            return Some(running);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    // Any other end is a fault and no reason to skip.
    running.wait().expect(3, &["no swap file"]);
    None
}

#[test]
fn a_swap_file_is_removed_however_the_run_ends() {
    const NAME: &str = "a_swap_file_is_removed_however_the_run_ends";
    for how in [Some(Signal::KILL), Some(Signal::INT), None] {
        let fixture = Fixture::new();
        let Some(running) = swapping(&fixture) else {
            return skip(NAME, "a swap file is not permitted here");
        };
        let (pid, queues) = (running.pid(), queue_keys(&fixture));
        let swaps = fs::read_to_string("/proc/swaps").unwrap();
        assert!(swaps.contains(fixture.work().to_str().unwrap()), "{swaps}");
        if let Some(signal) = how {
            running.signal(signal);
        }
        let code = running.wait().code();
        assert_eq!(
            code,
            match how {
                None => Some(0),
                Some(Signal::INT) => Some(130),
                Some(_) => None,
            }
        );
        assert_nothing_left(&fixture, pid, &queues);
    }
}

#[test]
fn a_swap_file_that_a_power_cut_left_is_switched_off_by_the_next_start() {
    const NAME: &str = "a_swap_file_that_a_power_cut_left_is_switched_off_by_the_next_start";
    let fixture = Fixture::new();
    let Some(running) = swapping(&fixture) else {
        return skip(NAME, "a swap file is not permitted here");
    };
    let (pid, queues) = (running.pid(), queue_keys(&fixture));
    send(child_of(&fixture, pid, "cleanup").unwrap(), Signal::KILL);
    drop(running);
    let ours = fixture.work().display().to_string();
    assert!(fs::read_to_string("/proc/swaps").unwrap().contains(&ours), "no process was left");
    let arguments = "--load noload --points 1 --interval 10ms --output next";
    fixture.finish(fixture.run(arguments)).expect(0, &["had left: swap file"]);
    assert_nothing_left(&fixture, pid, &queues);
}
