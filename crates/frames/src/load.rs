//! Run files to tables: which pieces are read by which thread, and how they become whole again.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use arrow_schema::ArrowError;
use store::manifest::{self, ManifestError};
use store::observations::run_name;
use store::results::{ResultsError, run_files};

use crate::chunk::{Chunk, Fault, Scratch};
use crate::run_table::{RunRow, run_table};
use crate::tables::{Frames, Gathering};

#[cfg(test)]
mod tests;

/// How much of a file is one piece of work: a power of two, for the checksum.
const PIECE_BYTES: u64 = 1 << 22;
/// How often the caller is asked whether to go on.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Run files that cannot be read into tables.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file that cannot be read, is not a run file, or is not there.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The manifest of an experiment.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// Too much for tables.
    #[error("columns: {0}")]
    Columns(#[from] ArrowError),
    /// The caller did not want to go on.
    #[error("stopped")]
    Stopped,
}

/// Reads run files, and all run files in folders and below, in the order given and, within a
/// folder, of their names. A file that was cut off is read up to there.
///
/// `go_on` is asked every now and then, on the thread of the caller; `threads` read.
///
/// # Errors
/// When there is none, or one of them is not a run file, with the line; when the manifest of a
/// folder cannot be read; when `go_on` says no.
pub fn load(
    paths: &[PathBuf],
    threads: usize,
    go_on: impl FnMut() -> bool,
) -> Result<Frames, LoadError> {
    load_in_pieces(paths, threads, PIECE_BYTES, go_on)
}

fn load_in_pieces(
    paths: &[PathBuf],
    threads: usize,
    piece_bytes: u64,
    mut go_on: impl FnMut() -> bool,
) -> Result<Frames, LoadError> {
    let (mut files, mut factors) = (Vec::new(), Vec::new());
    for path in paths {
        add_files(path, &mut files, &mut factors)?;
    }
    let reading = Reading::new(&files, piece_bytes);
    reading.stopped.store(!go_on(), Ordering::Relaxed);
    let threads = threads.max(1);
    let (at_work, caller) = (AtomicUsize::new(threads), std::thread::current());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                reading.work();
                at_work.fetch_sub(1, Ordering::Release);
                caller.unpark();
            });
        }
        while at_work.load(Ordering::Acquire) > 0 {
            std::thread::park_timeout(ASK_EVERY);
            if !go_on() {
                reading.stopped.store(true, Ordering::Relaxed);
            }
        }
    });
    if reading.stopped.load(Ordering::Relaxed) {
        return Err(LoadError::Stopped);
    }
    reading.gather(&factors)
}

/// A run file, and what its experiment planned for it.
struct RunFile {
    path: PathBuf,
    levels: BTreeMap<String, String>,
    file: File,
    len: u64,
}

/// Adds the run files at a path, and the factors of their experiment in the order of its plan.
fn add_files(
    path: &Path,
    files: &mut Vec<RunFile>,
    factors: &mut Vec<String>,
) -> Result<(), LoadError> {
    let manifest = if path.is_dir() { manifest::read(path)? } else { None };
    let mut planned = BTreeMap::new();
    if let Some(manifest) = manifest {
        factors.extend(manifest.factors.into_iter().map(|factor| factor.name));
        planned.extend(manifest.runs.into_iter().map(|run| (run.run_id, run.levels)));
    }
    for found in run_files(path)? {
        let levels = planned.remove(&run_name(path, &found)).unwrap_or_default();
        let failed = |source| ResultsError::Io { path: found.clone(), source };
        let file = File::open(&found).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        files.push(RunFile { path: found, levels, file, len });
    }
    Ok(())
}

/// A piece of work: the lines of a file that begin in this piece of it.
struct Piece {
    file: usize,
    range: Range<u64>,
}

/// All work, in the order in which it is begun.
struct Reading<'a> {
    files: &'a [RunFile],
    pieces: Vec<Piece>,
    done: Mutex<Vec<Option<Result<Chunk, Fault>>>>,
    next: AtomicUsize,
    stopped: AtomicBool,
    /// There was a fault: what comes later need not be read.
    faulty: AtomicBool,
}

impl<'a> Reading<'a> {
    fn new(files: &'a [RunFile], piece_bytes: u64) -> Self {
        let mut pieces = Vec::new();
        for (file, RunFile { len, .. }) in files.iter().enumerate() {
            let starts = (0..len.div_ceil(piece_bytes)).map(|index| index * piece_bytes);
            let range = |start: u64| start..(start + piece_bytes).min(*len);
            pieces.extend(starts.map(|start| Piece { file, range: range(start) }));
        }
        let done = Mutex::new(pieces.iter().map(|_| None).collect());
        let (stopped, faulty) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { files, pieces, done, next: AtomicUsize::new(0), stopped, faulty }
    }

    /// Takes piece after piece until there is none. Pieces are begun in order, so all before a
    /// fault have been begun when it is found, and are done to their ends.
    fn work(&self) {
        let mut scratch = Scratch::default();
        let is_over =
            || self.stopped.load(Ordering::Relaxed) || self.faulty.load(Ordering::Relaxed);
        while !is_over() {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(Piece { file, range }) = self.pieces.get(index) else { return };
            let RunFile { file: open, len, .. } = &self.files[*file];
            let read = Chunk::read(open, range.clone(), *len, *file as u32, &mut scratch);
            if read.is_err() {
                self.faulty.store(true, Ordering::Relaxed);
            }
            // Nobody panics with the lock held.
            if let Ok(mut all) = self.done.lock() {
                all[index] = Some(read);
            }
        }
    }

    /// Puts the pieces together.
    fn gather(self, factors: &[String]) -> Result<Frames, LoadError> {
        let mut gathering = Gathering::default();
        let row = |file: &RunFile| RunRow::new(file.path.clone(), file.levels.clone());
        let mut rows: Vec<RunRow> = self.files.iter().map(row).collect();
        let done = self.done.into_inner().unwrap_or_default();
        for (Piece { file, .. }, read) in self.pieces.iter().zip(done) {
            // What was not begun is later than a fault, which is told before.
            let read = read.ok_or(LoadError::Stopped)?;
            gathering.push(rows[*file].add(read)?);
        }
        let runs = run_table(&rows, factors)?;
        Ok(gathering.finish(runs)?)
    }
}
