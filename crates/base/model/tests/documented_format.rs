//! The example in `docs/run-format.md` is a run file, checksum included.

use std::collections::BTreeSet;

use model::{EndStatus, Line, Run};

const DOCUMENT: &str = include_str!("../../../../docs/run-format.md");

/// The lines of the first JSON block.
fn example() -> String {
    let block = DOCUMENT.split("```json\n").nth(1).expect("an example");
    block.split("```").next().expect("its end").to_owned()
}

#[test]
fn the_example_is_a_whole_run() {
    let text = example();
    let run = Run::parse(text.as_bytes()).expect("the example reads");
    assert_eq!(run.status(), EndStatus::Timeout);
    let end = run.end().expect("an end line").clone();
    let before = &text[..text.trim_end().rfind('\n').expect("several lines") + 1];
    assert_eq!(end.blake3, blake3::hash(before.as_bytes()).to_hex().as_str());
    assert_eq!(run.checksum_ok, Some(true));
    assert_eq!(run.truncated_bytes, 0);
}

#[test]
fn the_example_is_written_as_it_is_read() {
    for text in example().lines() {
        assert_eq!(Line::parse(text).expect("a line").to_json(), text);
    }
}

#[test]
fn the_example_shows_and_the_text_explains_every_kind() {
    let kinds: BTreeSet<String> = example()
        .lines()
        .filter_map(|text| Some(text.strip_prefix("{\"kind\":\"")?.split('"').next()?.to_owned()))
        .collect();
    for kind in [
        "header",
        "phase",
        "sample",
        "histogram",
        "work",
        "pass",
        "delivered",
        "counters",
        "warning",
        "end",
    ] {
        assert!(kinds.contains(kind), "{kind} is not in the example");
        assert!(DOCUMENT.contains(&format!("\n### `{kind}`\n")), "{kind} has no section");
    }
}
