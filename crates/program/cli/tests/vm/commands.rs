//! The commands besides `run` that start guests.

use serde_json::Value;

use crate::lab::Lab;

#[test]
fn verify_finds_the_same_bytes_also_on_a_busy_host() {
    let name = "verify_finds_the_same_bytes_also_on_a_busy_host";
    let Some(lab) = Lab::of_system(name) else { return };
    let machine = lab.machine();
    let times =
        ["--load", "cpuload", "--points", "1", "--interval", "200ms", "--json", "--boots", "2"];
    let finished = lab.command(&[&["vm", "verify", &machine][..], &times].concat());
    finished.expect(0, &[]);
    let verdict: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(verdict["identical"], true, "{verdict}");
    assert_eq!(verdict["runs"].as_array().map(Vec::len), Some(4), "{verdict}");
}

#[test]
fn verify_compares_how_a_cell_ends_in_every_qemu() {
    let Some(lab) = Lab::with_engine("verify_compares_how_a_cell_ends_in_every_qemu") else {
        return;
    };
    let times = ["--load", "noload", "--points", "1", "--interval", "200ms", "--emulators"];
    let finished = lab.command(&[&["vm", "verify", &lab.machine(), "--json"][..], &times].concat());
    finished.expect(0, &[]);
    let verdict: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(verdict["same_outcome"], true, "{verdict}");
    let runs = verdict["runs"].as_array().unwrap();
    assert!(runs.len() >= 2 && runs[0]["qemu"] != runs[1]["qemu"], "{verdict}");
    assert!(
        runs.iter().all(|run| run["outcome"] == "complete" && run["samples"] == 1),
        "{verdict}"
    );
}

#[test]
fn one_qemu_has_nothing_to_be_compared_with() {
    let Some(lab) = Lab::with_empty_cache("one_qemu_has_nothing_to_be_compared_with") else {
        return;
    };
    let only = lab.command(&["vm", "verify", &lab.machine(), "--emulators"]);
    only.expect(3, &["only one QEMU can run this machine", "vm engine build --qemu"]);
}

#[test]
fn boot_tells_what_the_kernel_says() {
    let Some(lab) = Lab::new("boot_tells_what_the_kernel_says") else { return };
    let finished = lab.command(&["vm", "boot", &lab.machine(), "--json"]);
    finished.expect(0, &[]);
    let booted: Value = serde_json::from_str(&finished.stdout).unwrap();
    let dmesg = booted["dmesg"].as_array().unwrap();
    assert!(dmesg[0].as_str().is_some_and(|line| line.contains("Linux version ")), "{}", dmesg[0]);
    assert!(booted["first_line_s"].as_f64() < booted["ready_s"].as_f64());
}

#[test]
fn the_cache_tells_what_it_holds() {
    let Some(lab) = Lab::with_empty_cells("the_cache_tells_what_it_holds") else { return };
    let cells = || {
        let finished = lab.command(&["cache", "stat", "--json"]);
        finished.expect(0, &[]);
        let found: Value = serde_json::from_str(&finished.stdout).unwrap();
        found["cells"]["count"].as_u64()
    };
    assert_eq!(cells(), Some(0));
    lab.finish("", "--load noload --points 1 --interval 10ms").expect(0, &[]);
    assert_eq!(cells(), Some(1));
    lab.command(&["cache", "prune"]).expect(0, &[]);
    assert_eq!(cells(), Some(0));
    assert!(lab.entries("snapshots").is_empty());
}
