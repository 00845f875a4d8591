//! Guests of aarch64 on a host of x86-64: equal bytes, and a next step for whatever is missing.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::busy::Busy;
use instrument::Agent;
use model::Architecture;

use crate::lab::{Lab, is_long};
use crate::repeat::difference;
use crate::skip::skip;

const EMULATOR: &str = "qemu-system-aarch64";
/// Debian's small kernel.
const KERNEL: &str = "deb:linux-image-cloud-arm64:arm64";
/// A load that reaches scheduler, locks, swap area and disk.
const SHORT: &str = "--load 2ctx-mem --seed 7 --warmup 1s --timeout 3s --no-cache";

/// A test with this kernel; `None`, which is noted, where something is missing.
fn lab(test: &str) -> Option<Lab> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|dir| dir.join(EMULATOR).is_file()) {
        skip(test, "QEMU for aarch64 is not installed");
        return None;
    }
    if Agent::of(Architecture::Aarch64).is_err() {
        skip(test, "these tests were built without the agent for aarch64: AGENTS=aarch64");
        return None;
    }
    Lab::with_kernel(KERNEL, test)
}

/// A test with this kernel in the engine; `None`, which is noted, where something is missing.
fn lab_with_engine(test: &str) -> Option<Lab> {
    let lab = lab(test)?.in_engine("aarch64");
    if lab.is_none() {
        skip(test, "the engine for aarch64 is not built: thrashlab vm engine build --arch aarch64");
    }
    lab
}

/// The run files of this test under these loads, from a boot of its own or a kept one.
fn files(lab: &Lab, settings: &str, arguments: &str) -> Vec<(String, Vec<u8>)> {
    lab.finish(settings, arguments).expect(0, &[]);
    lab.files()
}

#[test]
fn cells_of_aarch64_are_the_same_bytes() {
    const NAME: &str = "cells_of_aarch64_are_the_same_bytes";
    let Some(lab) = lab(NAME) else { return };
    let alone = files(&lab, "", SHORT);
    assert_eq!(alone.len(), 2, "noload is the reference");
    let busy = Busy::new();
    let pressed = files(&lab.sibling(), "", SHORT);
    drop(busy);
    assert!(alone == pressed, "{}", difference(&alone, &pressed));
    let (_, swapping) = alone.iter().find(|(name, _)| name.contains("2ctx-mem")).unwrap();
    let run = model::Run::parse(swapping).unwrap();
    assert_eq!(run.header.as_ref().unwrap().environment["vm_architecture"], "aarch64");
    let readings = run.lines.iter().flat_map(model::Line::readings);
    assert!(readings.last().unwrap().1["vmstat"]["pswpout"] > 0, "nothing was swapped out");
}

#[test]
fn all_loads_of_two_boots_of_aarch64_are_the_same_bytes() {
    const NAME: &str = "all_loads_of_two_boots_of_aarch64_are_the_same_bytes";
    let Some(lab) = lab(NAME) else { return };
    if !is_long(NAME, "make test-aarch64") {
        return;
    }
    let (one, other) = (lab.with_own_cache(), lab.with_own_cache());
    let (first, busy) = (files(&one, "", "--quick"), Busy::new());
    let second = files(&other, "", "--quick");
    drop(busy);
    assert_eq!(first.len(), 7);
    assert!(first == second, "{}", difference(&first, &second));
}

#[test]
fn several_cpus_of_aarch64_are_the_same_bytes() {
    const NAME: &str = "several_cpus_of_aarch64_are_the_same_bytes";
    let Some(lab) = lab_with_engine(NAME) else { return };
    for machine in ["cpus=2,nodes=2,schedule=seed", "cpus=4,cpus.model=parallel"] {
        let alone = files(&lab.sibling(), machine, SHORT);
        let busy = Busy::new();
        let pressed = files(&lab.sibling(), machine, SHORT);
        drop(busy);
        assert!(alone == pressed, "{}", difference(&alone, &pressed));
        let online = format!("\"cpus_online\":\"{}\"", &machine[5..6]);
        assert!(alone.iter().all(|(_, run)| String::from_utf8_lossy(run).contains(&online)));
    }
    let lab = lab.sibling();
    lab.finish("", SHORT).expect(0, &[]);
    let run = lab.fixture.output().join(format!("{}.run.jsonl", lab.files()[0].0));
    let profile = lab.command(&["profile", &run.display().to_string()]);
    profile.expect(3, &["a profile needs a guest of x86-64, and the kernel is for aarch64"]);
}

#[test]
fn all_loads_on_several_cpus_of_aarch64_are_the_same_bytes() {
    const NAME: &str = "all_loads_on_several_cpus_of_aarch64_are_the_same_bytes";
    let Some(lab) = lab_with_engine(NAME) else { return };
    if !is_long(NAME, "make test-aarch64") {
        return;
    }
    for cpus in [2, 4] {
        let settings = format!("cpus={cpus}");
        let boots = [lab.with_own_cache(), lab.with_own_cache()];
        for boot in &boots {
            symlink(lab.kept("engines"), boot.kept("engines")).unwrap();
        }
        let first = files(&boots[0], &settings, "--quick --no-cache");
        let busy = Busy::new();
        let second = files(&boots[1], &settings, "--quick --no-cache");
        drop(busy);
        assert_eq!(first.len(), 7);
        assert!(first == second, "{}", difference(&first, &second));
    }
}

/// A folder with programs of these names that print the version of a QEMU.
fn emulators(lab: &Lab, names: &[&str]) -> PathBuf {
    let folder = lab.fixture.path().join(names.join("-"));
    fs::create_dir_all(&folder).unwrap();
    for name in names {
        let path = folder.join(name);
        fs::write(&path, "#!/bin/sh\necho QEMU emulator version 7.2.0\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// What reads as a kernel for arm64.
fn image(lab: &Lab) -> PathBuf {
    let mut bytes = vec![0; 56];
    bytes.extend(b"ARM\x64\0\0\0\0Linux version 6.1.0-arm64 (me)\n");
    let path = lab.fixture.path().join("Image");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn what_a_guest_of_aarch64_lacks_is_named_with_the_next_step() {
    let lab = Lab::without_guests();
    let kernel = image(&lab).display().to_string();
    let other = emulators(&lab, &["qemu-system-x86_64"]);
    let right = emulators(&lab, &["qemu-system-x86_64", EMULATOR]);
    let refused = |path: &Path, settings: &str, words: &[&str]| {
        let mut run = lab.run_with(&kernel, settings, "--load noload");
        run.env("PATH", path);
        lab.fixture.finish(run).expect(3, words);
        assert!(!lab.fixture.output().exists(), "{settings}: nothing was measured");
    };
    let command = "apt-get install --no-install-recommends qemu-system-arm";
    refused(&other, "", &["qemu-system-aarch64 is not installed", command]);
    refused(&right, "cpus=2", &["cpus=2", "thrashlab vm engine build --arch aarch64"]);
    refused(&right, "accel=kvm", &["accel=kvm", "use accel=tcg"]);
}
