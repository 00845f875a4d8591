//! Any run file is exported in every format: rows have a cell for each column, benchmark lines are
//! whole, and metrics end as they should.
#![no_main]

use analysis::from_runs;
use exchange::{CsvFile, Names, RunOf, Rows, Table, go, openmetrics};
use libfuzzer_sys::fuzz_target;
use model::{Line, Run};

fuzz_target!(|bytes: &[u8]| {
    let Ok(run) = Run::parse(bytes) else {
        return;
    };
    let mut names = Names::default();
    run.lines.iter().for_each(|line| names.line(line));
    for table in Table::ALL {
        let Ok(columns) = table.columns(&names) else { continue };
        let mut out = Vec::new();
        let file = CsvFile::new(&columns, &mut out).expect("memory takes everything");
        let mut rows = Rows::new(table, &names, Box::new(file));
        rows.begin(RunOf::default());
        let header = run.header.clone().map(|header| Line::Header(Box::new(header)));
        for line in header.iter().chain(&run.lines) {
            // A histogram may be none; rows of another length than the heading are refused by CSV.
            if let Err(error) = rows.line(line) {
                assert!(error.to_string().starts_with("run "), "{error}");
            }
        }
        rows.end(run.checksum_ok, run.truncated_bytes as u64).expect("memory takes everything");
        rows.finish().expect("memory takes everything");
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
