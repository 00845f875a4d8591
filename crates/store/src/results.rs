//! A results folder: one run file a run, written as the run goes on.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use keep::folders::user_folder;
use model::{Line, Run, RunDecoder, RunError};

/// How the name of a run file ends.
pub const SUFFIX: &str = ".run.jsonl";

/// A results folder or run file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// Not a run file.
    #[error("{path}: {source}")]
    Run {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with its line.
        source: RunError,
    },
    /// A folder without runs.
    #[error("{path}: no run file (*{SUFFIX}) in this folder")]
    Empty {
        /// The folder.
        path: PathBuf,
    },
}

/// A run file under way: every line is handed to the system as it comes, so that the file is
/// valid up to its last line whenever this process ends.
#[derive(Debug)]
pub struct RunFile {
    file: File,
    path: PathBuf,
}

impl RunFile {
    /// A new run file in a folder, which is made if it is missing.
    ///
    /// # Errors
    /// When the folder cannot be made or written, or has a run of this name already.
    pub fn create(folder: &Path, run_id: &str) -> Result<Self, ResultsError> {
        let path = folder.join(format!("{run_id}{SUFFIX}"));
        let failed = |source| ResultsError::Io { path: path.clone(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        let file = OpenOptions::new().append(true).create_new(true).open(&path).map_err(failed)?;
        Ok(Self { file, path })
    }

    /// Adds one line, newline included.
    ///
    /// # Errors
    /// When the disk is full or gone.
    pub fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.write_all(line).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The lines of a run file one after another, so that its size does not matter.
pub struct RunLines {
    reader: BufReader<File>,
    path: PathBuf,
    decoder: RunDecoder,
    raw: Vec<u8>,
    truncated_bytes: u64,
}

impl RunLines {
    /// Opens a run file.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, ResultsError> {
        let failed = |source| ResultsError::Io { path: path.to_owned(), source };
        let reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(failed)?);
        Ok(Self {
            reader,
            path: path.to_owned(),
            decoder: RunDecoder::default(),
            raw: Vec::new(),
            truncated_bytes: 0,
        })
    }

    /// As [`Run::checksum_ok`], of the lines so far.
    #[must_use]
    pub fn checksum_ok(&self) -> Option<bool> {
        self.decoder.checksum_ok()
    }

    /// As [`Run::truncated_bytes`], once there are no more lines.
    #[must_use]
    pub fn truncated_bytes(&self) -> u64 {
        self.truncated_bytes
    }
}

impl Iterator for RunLines {
    type Item = Result<Line, ResultsError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.raw.clear();
        if let Err(source) = self.reader.read_until(b'\n', &mut self.raw) {
            return Some(Err(ResultsError::Io { path: self.path.clone(), source }));
        }
        if self.raw.last() != Some(&b'\n') {
            self.truncated_bytes += self.raw.len() as u64;
            return None;
        }
        let line = self.decoder.line(&self.raw);
        Some(line.map_err(|source| ResultsError::Run { path: self.path.clone(), source }))
    }
}

/// Reads one run file.
///
/// # Errors
/// When it cannot be read or is not a run file, with the line.
pub fn read_run(path: &Path) -> Result<Run, ResultsError> {
    let bytes =
        fs::read(path).map_err(|source| ResultsError::Io { path: path.to_owned(), source })?;
    Run::parse(&bytes).map_err(|source| ResultsError::Run { path: path.to_owned(), source })
}

/// Reads a run file, or all run files in a folder and below, in the order of their names.
///
/// # Errors
/// When there is none, or one of them is not a run file.
pub fn read_runs(path: &Path) -> Result<Vec<(PathBuf, Run)>, ResultsError> {
    run_files(path)?.into_iter().map(|file| read_run(&file).map(|run| (file, run))).collect()
}

/// A run file, or all run files in a folder and below, in the order of their names.
///
/// # Errors
/// When a folder has none or cannot be read.
pub fn run_files(path: &Path) -> Result<Vec<PathBuf>, ResultsError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    collect(path, &mut files)?;
    files.sort();
    match files.is_empty() {
        true => Err(ResultsError::Empty { path: path.to_owned() }),
        false => Ok(files),
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), ResultsError> {
    let failed = |source| ResultsError::Io { path: folder.to_owned(), source };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        if entry.file_type().map_err(failed)?.is_dir() {
            collect(&path, files)?;
        } else if path.to_string_lossy().ends_with(SUFFIX) {
            files.push(path);
        }
    }
    Ok(())
}

/// Where results go by default: `$XDG_DATA_HOME/thrashlab`, else `~/.local/share/thrashlab`, else
/// `thrashlab-results` in the current folder.
#[must_use]
pub fn default_folder() -> PathBuf {
    user_folder("XDG_DATA_HOME", ".local/share")
        .unwrap_or_else(|| PathBuf::from("thrashlab-results"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_one_by_one_are_those_of_the_whole_file_wherever_it_was_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cut.run.jsonl");
        let whole = include_bytes!("../tests/foreign/thrashlab.run.jsonl");
        for cut in (0..whole.len()).step_by(97).chain([whole.len()]) {
            fs::write(&path, &whole[..cut]).unwrap();
            let run = Run::parse(&whole[..cut]).unwrap();
            let mut lines = RunLines::open(&path).unwrap();
            let mut read: Vec<Line> = lines.by_ref().map(Result::unwrap).collect();
            if let Some(header) = run.header.clone() {
                assert_eq!(read.remove(0), Line::Header(Box::new(header)));
            }
            assert_eq!(read, run.lines);
            assert_eq!(lines.checksum_ok(), run.checksum_ok);
            assert_eq!(lines.truncated_bytes(), run.truncated_bytes as u64);
        }
        fs::write(&path, [whole.as_slice(), b"{}\n"].concat()).unwrap();
        let last = RunLines::open(&path).unwrap().last().unwrap().unwrap_err();
        assert!(last.to_string().contains("cut.run.jsonl: line "), "{last}");
    }

    #[test]
    fn runs_of_a_folder_are_read_in_order_and_a_bad_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(read_runs(folder.path()), Err(ResultsError::Empty { .. })));
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
    }
}
