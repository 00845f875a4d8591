//! The engine: guests with several virtual CPUs, and its translated code.

use std::fs;
use std::os::unix::fs::symlink;

use crate::busy::Busy;
use crate::lab::Lab;
use crate::repeat::difference;

/// A load that reaches scheduler, locks, swap area and disk.
const ARGUMENTS: &str = "--load 2ctx-mem --seeds 1..2 --warmup 1s --timeout 3s --no-cache";

/// The short form of `tools/engine-bar`.
const EVERY_LOAD: &str = "--warmup 1s --timeout 3s --no-cache";

/// The run files of this run with these settings on top of the smallest machine.
fn files(lab: &Lab, settings: &str, arguments: &str) -> Vec<(String, Vec<u8>)> {
    lab.finish(settings, arguments).expect(0, &[]);
    lab.files()
}

#[test]
fn several_cpus_need_the_engine_and_the_error_says_how_to_get_it() {
    let name = "several_cpus_need_the_engine_and_the_error_says_how_to_get_it";
    let Some(lab) = Lab::with_empty_cache(name) else { return };
    lab.finish("cpus=2", ARGUMENTS).expect(3, &["cpus=2: ", "thrashlab vm engine build"]);
    let list = lab.command(&["vm", "engine"]);
    list.expect(0, &[]);
    for text in
        ["not built", "thrashlab vm engine build", "thrashlab vm engine build --arch aarch64"]
    {
        assert!(list.stdout.contains(text), "{}", list.stdout);
    }
    let wrong = ["vm", "engine", "build", "--arch", "arm"];
    lab.command(&wrong).expect(2, &["--arch", "x86-64, aarch64"]);
    let wrong = lab.command(&["vm", "engine", "build", "--source", "nothing.tar.xz"]);
    wrong.expect(2, &["--source nothing.tar.xz"]);
    lab.command(&["vm", "engine", "build", "--qemu", "1.0"]).expect(2, &["there are patches for"]);
    assert!(lab.entries("engines").is_empty());
}

#[test]
fn guests_with_several_cpus_give_equal_bytes() {
    let Some(lab) = Lab::with_engine("guests_with_several_cpus_give_equal_bytes") else { return };
    for cpus in [2, 4] {
        let settings = format!("cpus={cpus}");
        let alone = files(&lab.sibling(), &settings, &format!("{EVERY_LOAD} --jobs 1"));
        assert_eq!(alone.len(), 7);
        let busy = Busy::new();
        let pressed = files(&lab.sibling(), &settings, &format!("{EVERY_LOAD} --jobs 2"));
        drop(busy);
        assert!(alone == pressed, "{}", difference(&alone, &pressed));
        let online = format!("\"cpus_online\":\"{cpus}\"");
        assert!(alone.iter().all(|(_, run)| String::from_utf8_lossy(run).contains(&online)));
    }
}

#[test]
fn translated_code_is_kept_and_changes_nothing() {
    let Some(engine) = Lab::with_engine("translated_code_is_kept_and_changes_nothing") else {
        return;
    };
    let lab = engine.with_own_cache();
    symlink(engine.kept("engines"), lab.kept("engines")).unwrap();
    let run = || files(&lab.sibling(), "", &format!("{EVERY_LOAD} --load smallwrite"));
    let translated = run();
    let [machine] = &lab.entries("snapshots")[..] else { panic!("{:?}", lab.entries("snapshots")) };
    let kept = machine.join("code");
    let mut code = fs::read(&kept).unwrap();
    assert!(code.len() > 1 << 20, "{}", code.len());
    let from_kept = run();
    assert!(translated == from_kept, "{}", difference(&translated, &from_kept));
    let middle = code.len() / 2;
    code[middle] ^= 1;
    fs::write(&kept, &code).unwrap();
    let from_damaged = run();
    assert!(translated == from_damaged, "{}", difference(&translated, &from_damaged));
    // What was damaged is replaced.
    assert!(fs::read(&kept).unwrap() != code);
}

#[test]
fn a_seed_schedules_cpus_in_another_way_and_always_the_same() {
    let name = "a_seed_schedules_cpus_in_another_way_and_always_the_same";
    let Some(lab) = Lab::with_engine(name) else { return };
    let seeded = files(&lab.sibling(), "cpus=2,schedule=seed", ARGUMENTS);
    let again = files(&lab.sibling(), "cpus=2,schedule=seed", ARGUMENTS);
    assert!(seeded == again, "{}", difference(&seeded, &again));
    let even = files(&lab.sibling(), "cpus=2", ARGUMENTS);
    let lines = |files: &[(String, Vec<u8>)]| -> Vec<Vec<u8>> {
        files
            .iter()
            .map(|(_, run)| run.splitn(2, |byte| *byte == b'\n').nth(1).unwrap().to_vec())
            .collect()
    };
    // Not only the headers differ.
    assert_ne!(lines(&seeded), lines(&even));
}
