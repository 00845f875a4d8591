//! The published results: all files are known and readable, and can be found.

use std::collections::BTreeSet;
use std::path::Path;

use store::reference::{self, ALL, Kind};

/// All data files below `reference/`, as (name, text).
fn files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../reference");
    let mut files = Vec::new();
    for folder in std::fs::read_dir(root).expect("the folder is there") {
        let folder = folder.expect("an entry").path();
        if !folder.is_dir() {
            continue;
        }
        let group = folder.file_name().expect("a name").to_string_lossy().into_owned();
        for file in std::fs::read_dir(&folder).expect("a folder") {
            let path = file.expect("an entry").path();
            let stem = path.file_stem().expect("a stem").to_string_lossy().into_owned();
            let stem = match group.as_str() {
                "multics" => stem.split('-').next().unwrap_or_default().to_owned(),
                _ => stem,
            };
            let text = std::fs::read_to_string(&path).expect("UTF-8");
            files.push((format!("{group}/{stem}"), text));
        }
    }
    files
}

#[test]
fn every_file_is_in_the_table_and_reads() {
    let files = files();
    assert_eq!(files.len(), ALL.len());
    for (name, text) in files {
        let reference = reference::find(&name).expect("it is in the table");
        assert_eq!(reference.text, text, "{name}");
        match reference.kind {
            Kind::Resp1 => {
                let table = reference.resp1().expect("it reads");
                assert_eq!((table.rows.len(), table.extras.len()), (7, 0), "{name}");
                assert_eq!(table.interval_s, Some(20.0));
            }
            Kind::Csv => {
                let cells = reference.cells().expect("it reads");
                assert!(!text.contains(['"', '\r']), "{name}: quoted cells or CRLF");
                assert!(cells.len() > 1, "{name}: no rows");
                assert!(cells.iter().all(|row| row.len() == cells[0].len()), "{name}: ragged");
                let heads = &cells[0];
                assert!(
                    heads.iter().all(|head| head.parse::<f64>().is_err()),
                    "{name}: no heading"
                );
                assert_eq!(heads.iter().collect::<BTreeSet<_>>().len(), heads.len(), "{name}");
            }
        }
    }
}

#[test]
fn names_are_unique_and_have_title_and_source() {
    let names: BTreeSet<&str> = ALL.iter().map(|reference| reference.name).collect();
    assert_eq!(names.len(), ALL.len());
    for reference in ALL {
        assert!(!reference.title.is_empty(), "{}", reference.name);
        let dated = [" 1973", " 1990", " 2003"].iter().any(|year| reference.source.ends_with(year));
        assert!(dated, "{}", reference.source);
        assert!(!reference.source.contains("  "), "{}", reference.source);
    }
}

#[test]
fn a_wrong_name_brings_the_closest() {
    let message = |name| reference::find(name).expect_err("no such result").to_string();
    assert_eq!(
        message("resp1/2.4.2"),
        "no published result \"resp1/2.4.2\"; did you mean resp1/2.4.20?"
    );
    assert!(message("hatcnt").ends_with("did you mean sun4/hatcnt?"), "{}", message("hatcnt"));
    assert!(message("Multics/experiment").contains("multics/experiment1 or "));
    assert!(message("mm1").contains("resp1/2.6.0-test11-mm1"), "{}", message("mm1"));
    let far = message("something else entirely");
    assert!(far.contains("choose from: resp1/2.4.20, "), "{far}");
}

#[test]
fn asking_for_the_wrong_kind_is_refused() {
    let error = reference::find("sun4/hatcnt").and_then(|found| found.resp1()).expect_err("a CSV");
    assert_eq!(error.to_string(), "sun4/hatcnt is not an output of resp1");
    let error =
        reference::find("resp1/2.4.20").and_then(|found| found.cells()).expect_err("an output");
    assert_eq!(error.to_string(), "resp1/2.4.20 is not a CSV table");
}
