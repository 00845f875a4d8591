//! Run files and a manifest of every version that was ever written, read as they were read before.
//!
//! `tests/before/` has files of earlier programs; `tables.txt` has the BLAKE3 of each table that the
//! program of version 0.1.0 exported of them as CSV, and how many lines it has.

use formats::{CsvFile, RunTables};
use results::Table;

#[test]
fn files_of_before_are_the_same_tables() {
    let runs = RunTables::find("tests/before".into()).unwrap();
    let mut found = String::new();
    // Commands of before printed no figures.
    for table in Table::ALL.into_iter().filter(|table| *table != Table::Figures) {
        let columns = runs.columns(table).unwrap();
        let mut out = Vec::new();
        let file = CsvFile::new(&columns, &mut out).unwrap();
        runs.write(vec![(table, Box::new(file))]).unwrap();
        let lines = out.iter().filter(|byte| **byte == b'\n').count();
        found += &format!("{} {lines} {}\n", table.name(), blake3::hash(&out));
    }
    assert_eq!(found, include_str!("before/tables.txt"));
}
