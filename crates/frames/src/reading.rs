//! Run files to rows: which pieces are read by which thread, and handed on in their order.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use store::observations::run_name;
use store::results::run_files;
use store::{StoreError, manifest};

use crate::batch::Batch;
use crate::chunk::{Chunk, Fault, Scratch};
use crate::run_row::RunRow;
use crate::tables::Table;

/// How often the caller is asked whether to go on.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// So many pieces a thread reads before the first of them is taken.
const AHEAD: usize = 3;

/// Run files that cannot be read into tables.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file that cannot be read, is not what it should be, or is not there.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The caller did not want to go on.
    #[error("stopped")]
    Stopped,
}

/// Run files in the order in which they are read.
pub struct RunFiles {
    /// How many threads read.
    pub threads: usize,
    /// How much of a file is read at a time: a power of two, for the checksum.
    pub piece_bytes: u64,
    files: Vec<RunFile>,
    factors: Vec<String>,
}

/// A run file, and what its experiment planned for it.
struct RunFile {
    path: PathBuf,
    levels: BTreeMap<String, String>,
    len: u64,
}

/// A piece of work: the lines of a file that begin in this piece of it.
struct Piece {
    file: usize,
    range: Range<u64>,
}

impl RunFiles {
    /// Finds run files, and all run files in folders and below, in the order given and, within a
    /// folder, of their names. Fails when there is none, or when the manifest of a folder cannot be
    /// read.
    pub fn find(paths: &[PathBuf]) -> Result<Self, LoadError> {
        let mut found =
            Self { threads: 1, piece_bytes: 1 << 22, files: Vec::new(), factors: Vec::new() };
        paths.iter().try_for_each(|path| found.add(path))?;
        Ok(found)
    }

    /// Adds the run files at a path, and the factors of their experiment in the order of its plan.
    fn add(&mut self, path: &Path) -> Result<(), LoadError> {
        let manifest = if path.is_dir() { manifest::read(path)? } else { None };
        let mut planned = BTreeMap::new();
        if let Some(manifest) = manifest {
            for factor in manifest.factors {
                if !self.factors.contains(&factor.name) {
                    self.factors.push(factor.name);
                }
            }
            planned.extend(manifest.runs.into_iter().map(|run| (run.run_id, run.levels)));
        }
        for found in run_files(path)? {
            let levels = planned.remove(&run_name(path, &found)).unwrap_or_default();
            let len = fs::metadata(&found).map_err(StoreError::io(&found))?.len();
            self.files.push(RunFile { path: found, levels, len });
        }
        Ok(())
    }

    /// A batch of a table without rows, which has its columns.
    pub fn empty(&self, table: Table) -> Batch {
        match table {
            Table::Runs => Batch::of(RunRow::default().row(&self.factors, 0)),
            table => table.batch(),
        }
    }

    /// Reads all lines, and hands on the rows of the tables that are wanted: batches in the order
    /// of their lines, each with what is known of its run; that of the run itself is its last.
    /// A file that was cut off is read up to there.
    ///
    /// `go_on` is asked every now and then, and `take` gets the rows, both on the caller's thread.
    /// Fails when a file is not a run file, with the line; when `go_on` says no; those of `take`.
    pub fn read<E: From<LoadError>>(
        &self,
        wanted: &[Table],
        mut go_on: impl FnMut() -> bool,
        mut take: impl FnMut(&mut RunRow, Table, Batch) -> Result<(), E>,
    ) -> Result<(), E> {
        let (threads, pieces) = (self.threads.max(1), self.pieces());
        std::thread::scope(|scope| {
            // Of n threads, thread k reads pieces k, k + n, k + 2n, …, so it is known which has the next one.
            let done = (0..threads).map(|first| {
                let (read, done) = sync_channel(AHEAD);
                let mut own = pieces.iter().skip(first).step_by(threads);
                scope.spawn(move || {
                    let mut scratch = Scratch::default();
                    // Nobody takes them any more once something went wrong.
                    own.try_for_each(|piece| {
                        read.send(self.piece(piece, wanted, &mut scratch)).map_err(drop)
                    })
                });
                done
            });
            let done: Vec<_> = done.collect();
            let mut run = RunRow::default();
            for (index, Piece { file, range }) in pieces.iter().enumerate() {
                let RunFile { path, levels, len } = &self.files[*file];
                if range.start == 0 {
                    run = RunRow::new(*file as u32, path.clone(), levels.clone());
                }
                let read = next(&done[index % threads], &mut go_on)?;
                let mut chunk = read.map_err(|fault| LoadError::from(run.wrong(fault)))?;
                run.add(&mut chunk).map_err(LoadError::from)?;
                for (table, batch) in chunk.into_batches() {
                    take(&mut run, table, batch)?;
                }
                if range.end == *len && wanted.contains(&Table::Runs) {
                    let row = Batch::of(run.row(&self.factors, 1));
                    take(&mut run, Table::Runs, row)?;
                }
            }
            Ok(())
        })
    }

    fn piece<'a>(
        &self,
        piece: &Piece,
        wanted: &'a [Table],
        scratch: &mut Scratch,
    ) -> Result<Chunk<'a>, Fault> {
        let RunFile { path, len, .. } = &self.files[piece.file];
        let file = File::open(path).map_err(Fault::Io)?;
        Chunk::read(&file, piece.range.clone(), *len, piece.file as u32, wanted, scratch)
    }

    fn pieces(&self) -> Vec<Piece> {
        let of_file = |(file, RunFile { len, .. }): (usize, &RunFile)| {
            // An empty file has a piece, too.
            let starts = (0..len.div_ceil(self.piece_bytes).max(1)).map(|at| at * self.piece_bytes);
            let range = |start: u64| start..(start + self.piece_bytes).min(*len);
            starts.map(|start| Piece { file, range: range(start) }).collect::<Vec<Piece>>()
        };
        self.files.iter().enumerate().flat_map(of_file).collect()
    }
}

/// The next piece of a thread, once it was read.
fn next<T>(done: &Receiver<T>, go_on: &mut impl FnMut() -> bool) -> Result<T, LoadError> {
    loop {
        if !go_on() {
            return Err(LoadError::Stopped);
        }
        match done.recv_timeout(ASK_EVERY) {
            Ok(read) => return Ok(read),
            Err(RecvTimeoutError::Timeout) => {}
            // The thread panicked, which is told when all have ended.
            Err(RecvTimeoutError::Disconnected) => return Err(LoadError::Stopped),
        }
    }
}
