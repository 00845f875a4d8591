//! Which files of a result folder of lkp-tests have its results.
//!
//! A result root has numbered folders, one per run, each with `stats.json` and `job.yaml`.
//! `matrix.json` next to them has all runs, `avg.json` their averages.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const STATS: &str = "stats.json";
const JOB: &str = "job.yaml";
const MATRIX: &str = "matrix.json";
const AVERAGES: &str = "avg.json";

/// The files to read, runs in the order of their numbers; `None` for other folders. Fails when the
/// folder is unreadable.
pub(crate) fn files(folder: &Path) -> io::Result<Option<Vec<PathBuf>>> {
    if folder.join(STATS).is_file() && folder.join(JOB).is_file() {
        return Ok(Some(vec![folder.join(STATS)]));
    }
    if folder.join(MATRIX).is_file() && folder.join(AVERAGES).is_file() {
        return Ok(Some(vec![folder.join(MATRIX)]));
    }
    let mut runs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let number = entry.file_name().to_str().and_then(|name| name.parse::<u64>().ok());
        let stats = entry.path().join(STATS);
        runs.extend(number.filter(|_| stats.is_file()).map(|number| (number, stats)));
    }
    runs.sort();
    let files: Vec<PathBuf> = runs.into_iter().map(|(_, file)| file).collect();
    Ok((!files.is_empty()).then_some(files))
}
