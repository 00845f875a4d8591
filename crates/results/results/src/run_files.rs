//! A results folder: one file per run, written during the run.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use keep::folders::user_folder;
use keep::read_patiently;
use model::{Run, RunError, RunFault};

use crate::error::ResultsError;

/// Suffix of run files.
pub const SUFFIX: &str = ".run.jsonl";
/// The beginning of every run file.
pub const RUN_LINE: &str = "{\"kind\":\"header\"";

/// A run file being written, valid up to its last line at any time.
#[derive(Debug)]
pub struct RunFile {
    file: File,
    /// Where it is.
    pub path: PathBuf,
}

impl RunFile {
    /// Creates a run file and its folder. Fails when it exists or cannot be written.
    pub fn create(folder: &Path, run_id: &str) -> Result<Self, ResultsError> {
        let path = folder.join(format!("{run_id}{SUFFIX}"));
        let made = fs::create_dir_all(folder)
            .and_then(|()| OpenOptions::new().append(true).create_new(true).open(&path));
        let file = made.map_err(ResultsError::io(&path))?;
        Ok(Self { file, path })
    }

    /// Appends one line, newline included. Fails when the disk is full or gone.
    pub fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.write_all(line).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
        })
    }
}

/// Reads one run file. Fails when it cannot be read or is not a run file, with the line.
pub fn read_run(path: &Path) -> Result<Run, ResultsError> {
    parse_run(path, &read_patiently(path).map_err(ResultsError::io(path))?)
}

/// Parses the bytes of a run file. Fails as [`read_run`].
pub fn parse_run(path: &Path, bytes: &[u8]) -> Result<Run, ResultsError> {
    let failed = |error| ResultsError::Run(path.to_owned(), error);
    let run = Run::parse(bytes).map_err(failed)?;
    // What has no whole line may be a run that was cut off, or something else.
    let common = bytes.len().min(RUN_LINE.len());
    match run.header.is_none() && bytes[..common] != RUN_LINE.as_bytes()[..common] {
        true => Err(failed(RunError { line: 1, fault: RunFault::NoHeader })),
        false => Ok(run),
    }
}

/// Reads a run file, or all below a folder by name. Fails when there is none or one is bad.
pub fn read_runs(path: &Path) -> Result<Vec<(PathBuf, Run)>, ResultsError> {
    run_files(path)?.into_iter().map(|file| read_run(&file).map(|run| (file, run))).collect()
}

/// A run file, or all below a folder by name, but none below a hidden folder. Fails when there is none or one is unreadable.
pub fn run_files(path: &Path) -> Result<Vec<PathBuf>, ResultsError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let (mut files, mut folders) = (Vec::new(), vec![path.to_owned()]);
    while let Some(folder) = folders.pop() {
        let mut add = || -> io::Result<()> {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
                    folders.extend((!is_hidden).then(|| entry.path()));
                } else if entry.path().to_string_lossy().ends_with(SUFFIX) {
                    files.push(entry.path());
                }
            }
            Ok(())
        };
        add().map_err(ResultsError::io(&folder))?;
    }
    files.sort();
    match files.is_empty() {
        true => Err(ResultsError::Empty(path.to_owned())),
        false => Ok(files),
    }
}

/// A run's path below the folder, without suffix. For a single file, `folder` is the file itself.
pub fn run_name(folder: &Path, file: &Path) -> String {
    let below = file.strip_prefix(folder).ok().filter(|name| !name.as_os_str().is_empty());
    let name = below.unwrap_or(file).to_string_lossy().into_owned();
    name.trim_end_matches(SUFFIX).to_owned()
}

/// The folder that the user set for this process.
static DEFAULT_FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Sets the folder for unnamed results; the first call counts.
pub fn set_default_folder(folder: PathBuf) {
    let _ = DEFAULT_FOLDER.set(folder);
}

/// The folder that was set, else `$XDG_DATA_HOME/thrashlab`, else `~/.local/share/thrashlab`, else
/// `./thrashlab-results`.
pub fn default_folder() -> PathBuf {
    let set = DEFAULT_FOLDER.get().cloned();
    set.or_else(|| user_folder("XDG_DATA_HOME", ".local/share"))
        .unwrap_or_else(|| PathBuf::from("thrashlab-results"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_folder_are_read_in_order_and_a_bad_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(read_runs(folder.path()), Err(ResultsError::Empty(_))));
        for id in ["b/002-x", "001-y"] {
            let path = folder.path().join(id);
            let parent = path.parent().unwrap();
            let name = path.file_name().unwrap().to_str().unwrap();
            RunFile::create(parent, name).unwrap();
        }
        let found = read_runs(folder.path()).unwrap();
        assert!(found[0].0.ends_with("001-y.run.jsonl") && found[1].0.ends_with("002-x.run.jsonl"));
        RunFile::create(folder.path(), "003").unwrap().line(b"{}\n").unwrap();
        let error = read_runs(folder.path()).unwrap_err().to_string();
        assert!(error.contains("003.run.jsonl: line 1"), "{error}");
        assert!(RunFile::create(folder.path(), "003").is_err(), "never overwrites");
        let other = folder.path().join("other.json");
        fs::write(&other, "{\"results\": []}").unwrap();
        let error = read_run(&other).unwrap_err().to_string();
        assert!(error.contains("other.json: line 1: a run file begins with its header"), "{error}");
        fs::write(&other, &RUN_LINE[..9]).unwrap();
        assert!(read_run(&other).unwrap().header.is_none(), "one that was cut off");
    }
}
