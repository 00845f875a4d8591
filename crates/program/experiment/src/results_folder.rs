//! The folder of a search: its earlier contents, and whether they are of the same search.

use std::fs;
use std::path::{Path, PathBuf};

use model::Manifest;
use results::ResultsError;
use results::run_files::read_runs;

use crate::error::{ExperimentError, Result};
use crate::plan::PlanError;

/// The current folder, in which commands run and paths begin.
pub(crate) fn current_folder() -> Result<PathBuf> {
    std::env::current_dir()
        .map_err(|error| ExperimentError::WrongUse(format!("the current folder: {error}")))
}

/// The text of a plan, and the base folder of its paths.
pub(crate) fn read_plan(path: &Path) -> Result<(String, PathBuf)> {
    let wrong = |error| format!("read the plan {}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(|error| ExperimentError::WrongUse(wrong(error)))?;
    Ok((text, path.parent().unwrap_or(path).to_owned()))
}

/// What a file holds, as `parse` reads its text. Fails with the file's name.
pub(crate) fn read_as<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T>) -> Result<T> {
    let wrong = |why: String| ExperimentError::WrongUse(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| wrong(format!("read it: {error}")))?;
    parse(&text).map_err(|error| wrong(error.to_string()))
}

pub(crate) fn wrong_plan(path: &Path, error: PlanError) -> ExperimentError {
    ExperimentError::WrongUse(format!("{}: {error}", path.display()))
}

/// The named folder, or the one of this name in the user's data directory.
pub(crate) fn named_or(output: Option<&Path>, name: &str) -> PathBuf {
    output.map_or_else(|| results::run_files::default_folder().join(name), Path::to_owned)
}

/// The manifest of a folder; `None` if it has neither one nor runs.
pub(crate) fn manifest_of(folder: &Path) -> Result<Option<Manifest>> {
    match results::manifest::read(folder) {
        Ok(None) => no_runs(folder).map(|()| None),
        Ok(found) => Ok(found),
        Err(error) => Err(ExperimentError::WrongUse(format!("read the manifest: {error}"))),
    }
}

/// Fails if a folder without a manifest has runs, readable or not.
fn no_runs(folder: &Path) -> Result<()> {
    let other = |why: String| {
        let folder = folder.display();
        let text = format!("{folder}: {why}; name another folder with --output DIR");
        Err(ExperimentError::WrongUse(text))
    };
    match folder.try_exists() {
        Ok(false) => return Ok(()),
        Ok(true) if folder.is_dir() => {}
        Ok(true) => return other("a file, not a folder".to_owned()),
        Err(error) => return other(error.to_string()),
    }
    match read_runs(folder) {
        Err(ResultsError::Empty(_)) => Ok(()),
        Err(damaged) => other(damaged.to_string()),
        Ok(_) => other("it holds runs that belong to no experiment".to_owned()),
    }
}

pub(crate) fn write_manifest(manifest: &Manifest, folder: &Path) -> Result<()> {
    results::manifest::write(manifest, folder)
        .map_err(|error| ExperimentError::NotMeasured(format!("write the manifest: {error}")))
}

/// The manifest of a folder as in [`manifest_of`]. Fails when it is another search's.
pub(crate) fn open(
    folder: &Path,
    is_same: impl FnOnce(&Manifest) -> bool,
) -> Result<Option<Manifest>> {
    match manifest_of(folder)? {
        Some(found) if !is_same(&found) => Err(ExperimentError::WrongUse(format!(
            "{} holds the experiment {:?} with other factors or levels; name another folder with \
             --output DIR, or remove it",
            folder.display(),
            found.name
        ))),
        found => Ok(found),
    }
}
