//! The folder of a history: its figures, its run files and their manifest.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use analysis::history::{HISTORY_SCHEMA, HistoryData};
use keep::out_file::write_whole;

use super::KERNEL;
use super::suite::{MEASURE, Suite};
use crate::carry_out::manifest;
use crate::error::{ExperimentError, Result};
use crate::plan::plan_text;
use crate::results_folder::{named_or, write_manifest};

/// All figures, from which a history is shown again.
const FILE: &str = "history.json";
/// Length of the hash that distinguishes histories of one suite.
const HASH_LETTERS: usize = 8;

/// The folder that was named, or the one of these kernels and this suite in the user's data directory.
pub fn history_folder(output: Option<&Path>, suite: &Suite, kernels: &[String]) -> PathBuf {
    let request = format!("{}\n{}\n{}", suite.text, suite.measures().join(" "), kernels.join("\n"));
    let hash = blake3::hash(request.as_bytes()).to_hex();
    named_or(output, &format!("history-{}-{}", suite.name, &hash[..HASH_LETTERS]))
}

/// The history in a folder. Fails when it holds none, or one that this version cannot read.
pub fn read_history(folder: &Path) -> Result<HistoryData> {
    read_if_any(folder)?.ok_or_else(|| {
        ExperimentError::WrongUse(format!(
            "{}: no {FILE} in it; `thrashlab history KERNELS --output {}` makes one",
            folder.display(),
            folder.display()
        ))
    })
}

/// The history in a folder, if it holds one. Fails when it cannot be read.
pub(super) fn read_if_any(folder: &Path) -> Result<Option<HistoryData>> {
    let path = folder.join(FILE);
    let wrong = |why: String| ExperimentError::WrongUse(format!("{}: {why}", path.display()));
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(error.to_string())),
    };
    let data: HistoryData = serde_json::from_slice(&bytes)
        .map_err(|error| wrong(format!("not the figures of a history: {error}")))?;
    match data.schema {
        HISTORY_SCHEMA => Ok(Some(data)),
        newer => Err(wrong(format!(
            "schema {newer} is not the one that this build reads ({HISTORY_SCHEMA}): update thrashlab"
        ))),
    }
}

/// Writes the figures, and the manifest of the run files for `compare`, `attribute` and `report`.
pub(super) fn write(data: &HistoryData, suite: &Suite, folder: &Path) -> Result<()> {
    let path = folder.join(FILE);
    let write = || -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut text = serde_json::to_vec(data)?;
        text.push(b'\n');
        write_whole(&path, &text)
    };
    write()
        .map_err(|error| ExperimentError::NotMeasured(format!("{}: {error}", path.display())))?;
    let plan = suite.plan(&data.kernels, data.settings.seeds);
    let mut manifest = manifest(&plan, &plan_text(&plan));
    manifest.runs.retain(|run| {
        let levels = [KERNEL, MEASURE].map(|name| run.levels.get(name).map_or("", String::as_str));
        let cell = data.cell(levels[0], levels[1]);
        cell.is_some_and(|cell| cell.runs.iter().any(|it| it.seed == run.seed))
    });
    write_manifest(&manifest, folder)
}
