//! Any bytes are read into columns as `model::Run` reads them into lines: what one refuses, the
//! other refuses for the same reason, and a sample is in both or in none.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use results::Cells;
use libfuzzer_sys::fuzz_target;
use model::{Line, Run};
use tempfile::TempDir;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

fuzz_target!(|bytes: &[u8]| {
    let path: PathBuf = FOLDER.path().join("r.run.jsonl");
    fs::write(&path, bytes).expect("a file in it");
    let read = results::RunFiles::find(std::slice::from_ref(&path))
        .and_then(|files| results::load(&files, || true));
    let run = match Run::parse(bytes) {
        Ok(run) => run,
        Err(error) => {
            let reason = read.expect_err("lines refuse it").to_string();
            assert_eq!(reason, format!("{}: {error}", path.display()));
            return;
        }
    };
    let [_, samples, ..] = read.expect("lines are read");
    let column = |name: &str| -> Vec<u64> {
        let columns = samples.batches.iter().flatten().filter(|column| column.name == name);
        let values = |column: &results::Column| match &column.cells {
            Cells::Count(values) => values.clone(),
            other => panic!("{name} is of {other:?}"),
        };
        columns.flat_map(values).collect()
    };
    let of_lines = |value: fn(&model::SampleRecord) -> u64| -> Vec<u64> {
        let samples = run.lines.iter().filter_map(|line| match line {
            Line::Sample(sample) => Some(value(sample)),
            _ => None,
        });
        samples.collect()
    };
    assert_eq!(column("at_ns"), of_lines(|sample| sample.at_ns));
    assert_eq!(column("intended_ns"), of_lines(|sample| sample.intended_ns));
    assert_eq!(column("delay_ns"), of_lines(|sample| sample.delay_ns()));
});
