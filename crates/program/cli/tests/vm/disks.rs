//! Models of disks in guests: measured against their arithmetic, and equal bytes.

use std::collections::BTreeMap;
use std::path::Path;

use model::EndStatus;
use serde_json::Value;

use crate::busy::Busy;
use crate::lab::{Lab, is_long};
use crate::repeat::difference;
use crate::roots::{lab_with_root, make_root};
use crate::skip::skip;

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

/// Runs twice, the second time on a busy host, and compares the bytes; returns the run of a load.
fn same_bytes(lab: &Lab, settings: &str, arguments: &str, load: &str) -> model::Run {
    let (first, second) = (lab.sibling(), lab.sibling());
    first.finish(settings, arguments).expect(0, &[]);
    let busy = Busy::new();
    second.finish(settings, arguments).expect(0, &[]);
    drop(busy);
    let (first, second) = (first.files(), second.files());
    assert_eq!(first.len(), 3, "{settings}: noload is the reference");
    assert!(first == second, "{settings}: {}", difference(&first, &second));
    let (_, bytes) = first.iter().find(|(name, _)| name.contains(load)).unwrap();
    let run = model::Run::parse(bytes).unwrap();
    assert!(matches!(run.status(), EndStatus::Complete | EndStatus::Timeout), "{settings}");
    run
}

fn facts(run: &model::Run) -> &BTreeMap<String, String> {
    &run.header.as_ref().unwrap().environment
}

/// Pages that were swapped out.
fn swapped_pages(run: &model::Run) -> u64 {
    let readings = run.lines.iter().flat_map(model::Line::readings);
    readings.last().unwrap().1["vmstat"]["pswpout"]
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
    // Few credits, so that they are used up; and memory for what does not compress.
    for settings in ["disk.model=cloud,disk.burst_credits=200", "disk.model=zram,kernel_mem=44M"] {
        let run = same_bytes(&lab, settings, ARGUMENTS, "2ctx-mem");
        assert!(swapped_pages(&run) > 0, "{settings}: nothing was swapped out");
    }
}

#[test]
fn every_model_of_a_disk_does_what_it_says() {
    const NAME: &str = "every_model_of_a_disk_does_what_it_says";
    let Some(lab) = Lab::new(NAME) else { return };
    if !is_long(NAME, "make test-distro") {
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

#[test]
fn swap_and_files_are_on_two_disks_with_delays_of_their_own() {
    const NAME: &str = "swap_and_files_are_on_two_disks_with_delays_of_their_own";
    let Some(lab) = Lab::new(NAME) else { return };
    // Each has a delay, so one of them has another driver, which follows the swap area.
    for (holds, files) in [("swap", "/dev/sda1"), ("files,disk2.size=64M", "/dev/sda1")] {
        let settings = format!("disk2.delay=5ms,disk2.holds={holds}");
        let run = same_bytes(&lab, &settings, ARGUMENTS, "2ctx-mem");
        assert!(swapped_pages(&run) > 0, "{settings}: nothing was swapped out");
        let facts = facts(&run);
        assert!(facts["swaps"].contains("/dev/nullb0p1"), "{settings}: {facts:?}");
        assert_eq!(facts["disk_device"], files, "{settings}");
    }
    let finished = lab.command(&[
        "vm",
        "disk",
        &format!("{},shift=0,disk2.delay=7ms,disk2.queue=3", lab.machine()),
        "--json",
    ]);
    finished.expect(0, &[]);
    let found: Value = serde_json::from_str(&finished.stdout).unwrap();
    let (first, second) = (&found["report"], &found["report"]["second"]);
    for (report, one, many) in [(first, 500.0, 500.0), (second, 1.0 / 0.007, 3.0 / 0.007)] {
        for (users, expected) in [(1, one), (2, many)] {
            let rate = per_s(report, "usual", users, false);
            assert!((0.92..1.03).contains(&(rate / expected)), "{users}: {rate} {expected}");
        }
    }
}

#[test]
fn a_root_makes_xfs_and_btrfs_with_its_own_programs() {
    const NAME: &str = "a_root_makes_xfs_and_btrfs_with_its_own_programs";
    let Some((lab, _)) = lab_with_root(NAME) else { return };
    if !is_long(NAME, "make test-distro") {
        return;
    }
    for (kind, program, size) in
        [("xfs", "/usr/sbin/mkfs.xfs", "400M"), ("btrfs", "/usr/sbin/mkfs.btrfs", "200M")]
    {
        if !Path::new(program).exists() {
            skip(NAME, &format!("{program} is not installed"));
            continue;
        }
        let folder = lab.fixture.path().join(kind);
        make_root(&folder, &[program]);
        let root = format!("root={},kernel_mem=96M", folder.display());
        let settings = format!("{root},disk.fs={kind},disk.size={size}");
        let run = same_bytes(&lab, &settings, ARGUMENTS, "smallwrite");
        assert_eq!(facts(&run)["disk_filesystem"], kind, "{settings}");
        // The root is on the first disk, the work on the second.
        let settings =
            format!("{root},disk2.holds=files,disk2.fs={kind},disk2.size={size},disk2.model=ssd");
        let run = same_bytes(&lab, &settings, ARGUMENTS, "smallwrite");
        let facts = facts(&run);
        let found = (facts["disk_filesystem"].as_str(), facts["disk_device"].as_str());
        assert_eq!(found, (kind, "/dev/nullb0p1"), "{settings}");
    }
}

#[test]
fn a_root_without_the_program_of_a_file_system_is_named() {
    const NAME: &str = "a_root_without_the_program_of_a_file_system_is_named";
    let Some((lab, folder)) = lab_with_root(NAME) else { return };
    let folder = folder.display().to_string();
    let settings = format!("disk.fs=xfs,disk.size=400M,root={folder}");
    let finished = lab.finish(&settings, "--load noload");
    finished.expect(3, &["mkfs.xfs", &folder, "root=debian:13,xfsprogs"]);
}
