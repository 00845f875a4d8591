//! Any run file is exported in every format: rows have a cell for each column, benchmark lines are
//! whole, and metrics end as they should.
#![no_main]

use std::fs;
use std::sync::LazyLock;

use analysis::from_runs;
use formats::{CsvFile, RunTables};
use formats::{go, openmetrics};
use results::Table;
use libfuzzer_sys::fuzz_target;
use model::Run;
use tempfile::TempDir;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

fuzz_target!(|bytes: &[u8]| {
    let Ok(run) = Run::parse(bytes) else {
        return;
    };
    let path = FOLDER.path().join("r.run.jsonl");
    fs::write(&path, bytes).expect("a file in it");
    let runs = RunTables::find(path).expect("lines are read");
    for table in Table::ALL {
        let Ok(columns) = runs.columns(table) else { continue };
        let mut out = Vec::new();
        let file = CsvFile::new(&columns, &mut out).expect("memory takes everything");
        // A histogram may be none; rows of another length than the heading are refused by CSV.
        if let Err(error) = runs.write(vec![(table, Box::new(file))]) {
            assert!(error.to_string().starts_with("run "), "{error}");
        }
    }
    let set = from_runs("fuzz", &[("run".to_owned(), run)]);
    let mut out = Vec::new();
    go::write(&set, go::Each::Usual, &mut out).expect("memory takes everything");
    let text = String::from_utf8(out).expect("it is text");
    for line in text.lines().filter(|line| line.starts_with("Benchmark")) {
        assert_eq!(line.split_whitespace().count() % 2, 0, "{line}");
    }
    assert!(openmetrics::text(&set).ends_with("# EOF\n"));
});
