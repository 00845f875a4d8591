//! The file of a run in progress, and the result of the run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use model::Run;
use results::ResultsError;
use results::run_files::{RunFile, SUFFIX, read_run};

pub(crate) enum RunResult {
    Run { path: PathBuf, run: Box<Run>, death: Option<String> },
    Refused(String),
}

/// The file of a run, created with its first line: a refused load leaves none.
pub(crate) struct Output<'a> {
    folder: &'a Path,
    run_id: &'a str,
    file: Option<RunFile>,
}

impl<'a> Output<'a> {
    pub(crate) fn new(folder: &'a Path, run_id: &'a str) -> Self {
        Self { folder, run_id, file: None }
    }

    pub(crate) fn line(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let made = RunFile::create(self.folder, self.run_id).map_err(io::Error::other)?;
                self.file.insert(made)
            }
        };
        file.line(bytes)
    }

    /// The run as recorded, or as it is known to be; `death` is the reason reported instead of an end,
    /// if any.
    pub(crate) fn into_result(
        self,
        death: Option<String>,
        known: Option<Box<Run>>,
    ) -> Result<RunResult, ResultsError> {
        let Some(file) = self.file else {
            return Ok(RunResult::Refused(
                death.unwrap_or_else(|| "it produced no output".to_owned()),
            ));
        };
        let path = file.path.clone();
        let run = known.map_or_else(|| read_run(&path).map(Box::new), Ok)?;
        Ok(RunResult::Run { path, run, death })
    }
}

pub(crate) fn run_of(folder: &Path, run_id: &str) -> Result<Option<(PathBuf, Run)>, ResultsError> {
    let path = folder.join(format!("{run_id}{SUFFIX}"));
    match path.exists() {
        true => read_run(&path).map(|run| Some((path, run))),
        false => Ok(None),
    }
}

/// Renames a run file that does not count: its name is needed, and no measurement is thrown away.
pub(crate) fn set_aside(folder: &Path, run_id: &str) -> Result<(), ResultsError> {
    let path = folder.join(format!("{run_id}{SUFFIX}"));
    if !path.exists() {
        return Ok(());
    }
    let mut names = (1..=u16::MAX).map(|n| folder.join(format!("{run_id}.stopped-{n}.jsonl")));
    let moved = match names.find(|name| !name.exists()) {
        Some(aside) => fs::rename(&path, aside),
        None => Err(io::Error::other("too many stopped runs of this name")),
    };
    moved.map_err(ResultsError::io(path))
}
