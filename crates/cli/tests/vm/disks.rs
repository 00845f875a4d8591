//! Models of disks in guests: measured against their arithmetic, and equal bytes.

use serde_json::Value;

use crate::busy::Busy;
use crate::lab::Lab;
use crate::repeat::difference;
use crate::skip::skip;

const LONG_TESTS: &str = "THRASHLAB_LONG_TESTS";
/// A load that swaps, and one that writes files.
const ARGUMENTS: &str = "--load 2ctx-mem,smallwrite --warmup 1s --timeout 3s --no-cache";

/// What `vm disk` found; it must have found what it computed.
fn measured(lab: &Lab, settings: &str) -> Value {
    let settings = format!("{},shift=0,{settings}", lab.machine());
    let finished = lab.command(&["vm", "disk", &settings, "--json"]);
    finished.expect(0, &[]);
    let found: Value = serde_json::from_str(&finished.stdout).unwrap();
    found["report"].clone()
}

/// Blocks per second of a pattern.
fn per_s(report: &Value, phase: &str, users: u64, is_write: bool) -> f64 {
    let rows = report["patterns"].as_array().unwrap();
    let row = rows.iter().find(|row| {
        let pattern = &row["pattern"];
        row["phase"] == phase
            && pattern["is_random"] == true
            && pattern["is_write"] == is_write
            && (pattern["users"] == 1) == (users == 1)
    });
    row.unwrap()["measured_per_s"].as_f64().unwrap()
}

#[test]
fn a_cloud_disk_is_fast_until_its_credits_are_used_up() {
    const NAME: &str = "a_cloud_disk_is_fast_until_its_credits_are_used_up";
    let Some(lab) = Lab::new(NAME) else { return };
    let report = measured(&lab, "disk.model=cloud,disk.burst_credits=16000");
    for (phase, users, expected) in [
        ("usual", 1, 1000.0),
        ("usual", 2, 3000.0),
        ("without-credits", 1, 100.0),
        ("without-credits", 2, 100.0),
    ] {
        for is_write in [false, true] {
            let found = per_s(&report, phase, users, is_write);
            assert!((0.92..1.02).contains(&(found / expected)), "{phase} {users}: {found}");
        }
    }
    assert_eq!(report["credits"]["verdict"], "as-computed", "{report}");
}

#[test]
fn cells_on_a_disk_with_credits_and_on_compressed_memory_are_the_same_bytes() {
    const NAME: &str = "cells_on_a_disk_with_credits_and_on_compressed_memory_are_the_same_bytes";
    let Some(lab) = Lab::new(NAME) else { return };
    // Few credits, so that they are used up.
    for settings in ["disk.model=cloud,disk.burst_credits=200", "disk.model=zram"] {
        let (first, second) = (lab.sibling(), lab.sibling());
        first.finish(settings, ARGUMENTS).expect(0, &[]);
        let busy = Busy::new();
        second.finish(settings, ARGUMENTS).expect(0, &[]);
        drop(busy);
        let (first, second) = (first.files(), second.files());
        assert_eq!(first.len(), 3, "{settings}: noload is the reference");
        assert!(first == second, "{settings}: {}", difference(&first, &second));
        let (_, swapping) = first.iter().find(|(name, _)| name.contains("2ctx-mem")).unwrap();
        let run = model::Run::parse(swapping).unwrap();
        let readings = run.lines.iter().flat_map(model::Line::readings);
        let pages = readings.last().unwrap().1["vmstat"]["pswpout"];
        assert!(pages > 0, "{settings}: nothing was swapped out");
    }
}

#[test]
fn every_model_of_a_disk_does_what_it_says() {
    const NAME: &str = "every_model_of_a_disk_does_what_it_says";
    let Some(lab) = Lab::new(NAME) else { return };
    if std::env::var_os(LONG_TESTS).is_none() {
        skip(NAME, "it takes minutes: make test-distro");
        return;
    }
    let spindle = measured(&lab, "disk.model=spindle");
    let ssd = measured(&lab, "disk.model=ssd");
    let nvme = measured(&lab, "disk.model=nvme");
    let reads = |report: &Value| per_s(report, "usual", 1, false);
    assert!(reads(&spindle) < 81.0 && reads(&ssd) > 10_000.0 && reads(&nvme) > reads(&ssd));
    assert_eq!(measured(&lab, "disk.model=zram")["zram"]["verdict"], "as-computed");
    // Delays at which the kernel's own instructions do not count, so that the queue does.
    for (settings, expected) in [
        ("disk.model=nvme,disk.delay=5ms", 29.0 / 0.005),
        ("disk.rate=0,disk.queue=7,disk.delay=5ms", 7.0 / 0.005),
    ] {
        let found = per_s(&measured(&lab, settings), "usual", 2, false);
        assert!((0.9..1.03).contains(&(found / expected)), "{settings}: {found}");
    }
}
