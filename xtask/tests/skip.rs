//! The function with which tests skip themselves, tried in a process of its own.

use std::process::Command;

#[path = "../../tests/skip.rs"]
mod skip;

const TRIAL: &str = "THRASHLAB_SKIP_TRIAL";

#[test]
fn trial() {
    if std::env::var_os(TRIAL).is_some() {
        skip::skip("trial", "this is\nwhy");
    }
}

#[test]
fn a_skip_is_printed_and_collected() {
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("skips.txt");
    for _ in 0..2 {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "trial"])
            .env(TRIAL, "1")
            .env("THRASHLAB_SKIPS", &list)
            .output()
            .unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        assert!(output.contains("SKIPPED trial: this is why\n"), "{output}");
    }
    let collected = std::fs::read_to_string(&list).unwrap();
    assert_eq!(collected, "trial: this is why\n".repeat(2));
}
