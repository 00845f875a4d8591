//! Run files to tables: which pieces are read by which thread, and how they become whole again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use arrow_schema::ArrowError;
use store::manifest::{self, ManifestError};
use store::results::{ResultsError, SUFFIX, run_files};

use crate::chunk::{Chunk, Fault, Scratch};
use crate::run_table::{RunRow, run_table};
use crate::tables::{Frames, Gathering};

/// How much of a file is one piece of work.
const CHUNK_BYTES: u64 = 4 << 20;
/// How much is hashed at once.
const HASH_BYTES: usize = 1 << 20;
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
    mut go_on: impl FnMut() -> bool,
) -> Result<Frames, LoadError> {
    let mut files = Vec::new();
    for path in paths {
        add_files(path, &mut files)?;
    }
    let reading = Reading::new(&files);
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
    reading.gather()
}

/// A run file, and what its experiment planned for it.
struct RunFile {
    path: PathBuf,
    levels: BTreeMap<String, String>,
    file: File,
    len: u64,
}

fn add_files(path: &Path, files: &mut Vec<RunFile>) -> Result<(), LoadError> {
    let planned = match path.is_dir() {
        true => manifest::read(path)?.map(|manifest| manifest.runs).unwrap_or_default(),
        false => Vec::new(),
    };
    let mut planned: BTreeMap<String, BTreeMap<String, String>> =
        planned.into_iter().map(|run| (run.run_id, run.levels)).collect();
    for found in run_files(path)? {
        let name = found.strip_prefix(path).unwrap_or(&found).to_string_lossy().into_owned();
        let levels = planned.remove(name.trim_end_matches(SUFFIX)).unwrap_or_default();
        let failed = |source| ResultsError::Io { path: found.clone(), source };
        let file = File::open(&found).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        files.push(RunFile { path: found, levels, file, len });
    }
    Ok(())
}

/// A piece of work.
#[derive(Clone, Copy)]
enum Task {
    /// Lines of a file that begin in this piece of it.
    Lines { file: usize, from: u64 },
    /// The checksum of all that stands before the last line of a file.
    Checksum { file: usize },
}

/// What came of it.
enum Done {
    Lines(Result<Box<Chunk>, Fault>),
    /// Where the last line begins, and the hash of all before it; unless it was cut off.
    Checksum(io::Result<Option<(u64, blake3::Hash)>>),
}

/// All work, in the order in which it is begun.
struct Reading<'a> {
    files: &'a [RunFile],
    tasks: Vec<Task>,
    done: Mutex<Vec<Option<Done>>>,
    next: AtomicUsize,
    stopped: AtomicBool,
    /// There was a fault: what comes later need not be read.
    faulty: AtomicBool,
}

impl<'a> Reading<'a> {
    fn new(files: &'a [RunFile]) -> Self {
        let mut tasks = Vec::new();
        for (file, RunFile { len, .. }) in files.iter().enumerate() {
            // First, as it is the longest of a large file.
            tasks.push(Task::Checksum { file });
            let chunks = 0..len.div_ceil(CHUNK_BYTES);
            tasks.extend(chunks.map(|chunk| Task::Lines { file, from: chunk * CHUNK_BYTES }));
        }
        let done = Mutex::new(tasks.iter().map(|_| None).collect());
        let (stopped, faulty) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { files, tasks, done, next: AtomicUsize::new(0), stopped, faulty }
    }

    /// Takes piece after piece until there is none. Pieces are begun in order, so all before a
    /// fault have been begun when it is found, and are done to their ends.
    fn work(&self) {
        let mut scratch = Scratch::default();
        let is_over =
            || self.stopped.load(Ordering::Relaxed) || self.faulty.load(Ordering::Relaxed);
        while !is_over() {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = self.tasks.get(index) else { return };
            let done = match *task {
                Task::Lines { file, from } => {
                    let RunFile { file: open, len, .. } = &self.files[file];
                    let range = from..(from + CHUNK_BYTES).min(*len);
                    Done::Lines(
                        Chunk::read(open, range, *len, file as u32, &mut scratch).map(Box::new),
                    )
                }
                Task::Checksum { file } => Done::Checksum(self.checksum(file)),
            };
            if matches!(done, Done::Lines(Err(_)) | Done::Checksum(Err(_))) {
                self.faulty.store(true, Ordering::Relaxed);
            }
            // Nobody panics with the lock held.
            if let Ok(mut all) = self.done.lock() {
                all[index] = Some(done);
            }
        }
    }

    fn checksum(&self, file: usize) -> io::Result<Option<(u64, blake3::Hash)>> {
        let RunFile { file, len, .. } = &self.files[file];
        let Some(offset) = last_line(file, *len)? else { return Ok(None) };
        let mut hasher = blake3::Hasher::new();
        let mut bytes = vec![0; HASH_BYTES];
        let mut at = 0;
        while at < offset && !self.stopped.load(Ordering::Relaxed) {
            let piece = (offset - at).min(HASH_BYTES as u64) as usize;
            file.read_exact_at(&mut bytes[..piece], at)?;
            hasher.update(&bytes[..piece]);
            at += piece as u64;
        }
        Ok(Some((offset, hasher.finalize())))
    }

    /// Puts the pieces together.
    fn gather(self) -> Result<Frames, LoadError> {
        let mut gathering = Gathering::default();
        let mut rows: Vec<RunRow> = Vec::new();
        let done = self.done.into_inner().unwrap_or_default();
        for (task, done) in self.tasks.iter().zip(done) {
            match (task, done) {
                (Task::Checksum { file }, Some(Done::Checksum(found))) => {
                    let RunFile { path, levels, .. } = &self.files[*file];
                    let failed = |source| ResultsError::Io { path: path.clone(), source };
                    let checksum = found.map_err(failed)?;
                    rows.push(RunRow::new(path.clone(), levels.clone(), checksum));
                }
                (Task::Lines { .. }, Some(Done::Lines(read))) => {
                    if let Some(row) = rows.last_mut() {
                        gathering.push(row.add(read.map(|chunk| *chunk))?);
                    }
                }
                // Later than a fault, which was told.
                _ => return Err(LoadError::Stopped),
            }
        }
        let runs = run_table(&rows)?;
        Ok(gathering.finish(runs)?)
    }
}

/// Where the last whole line of a file begins.
fn last_line(file: &File, len: u64) -> io::Result<Option<u64>> {
    let mut tail = Vec::new();
    let mut size = 4096.min(len);
    loop {
        tail.resize(size as usize, 0);
        file.read_exact_at(&mut tail, len - size)?;
        let mut newlines = memchr::memrchr_iter(b'\n', &tail);
        let last = newlines.next();
        if let Some(before) = newlines.next() {
            return Ok(Some(len - size + before as u64 + 1));
        }
        if size == len {
            return Ok(last.map(|_| 0));
        }
        size = (size * 2).min(len);
    }
}
