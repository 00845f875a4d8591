//! Reads run files into rows: several threads read chunks, which are delivered in order.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use crate::batch::Batch;
use crate::chunk::{Chunk, Fault, Scratch};
use crate::error::ResultsError;
use crate::manifest;
use crate::run_files::{run_files, run_name};
use crate::run_row::RunRow;
use crate::tables::Table;

/// How often the caller may stop the reader.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// Chunks that each thread reads ahead.
const AHEAD: usize = 3;

/// Run files that cannot be read into tables.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file that is missing, unreadable or invalid.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The caller stopped the reader.
    #[error("stopped")]
    Stopped,
}

/// Run files in reading order.
pub struct RunFiles {
    /// Number of threads.
    pub threads: usize,
    /// Chunk size: a power of two, for the checksum.
    pub piece_bytes: u64,
    files: Vec<ListedFile>,
    factors: Vec<String>,
}

/// A run file to read, with the levels that the manifest gives it.
struct ListedFile {
    path: PathBuf,
    levels: BTreeMap<String, String>,
    len: u64,
}

/// The lines of a file that begin in this range.
type Piece = (usize, Range<u64>);

impl RunFiles {
    /// Finds the run files at and below these paths, in this order and in folders by name. Fails
    /// when there is none, or a folder's manifest is unreadable.
    pub fn find(paths: &[PathBuf]) -> Result<Self, LoadError> {
        let mut found =
            Self { threads: 1, piece_bytes: 1 << 22, files: Vec::new(), factors: Vec::new() };
        paths.iter().try_for_each(|path| found.add(path))?;
        Ok(found)
    }

    /// Adds the run files at a path, and the factors of their experiment.
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
            let len = fs::metadata(&found).map_err(ResultsError::io(&found))?.len();
            self.files.push(ListedFile { path: found, levels, len });
        }
        Ok(())
    }

    /// An empty batch of a table with its columns.
    pub fn empty(&self, table: Table) -> Batch {
        match table {
            Table::Runs => Batch::from_columns(RunRow::default().row(&self.factors, 0)),
            table => table.batch(),
        }
    }

    /// Reads all lines, and passes batches of the wanted tables in line order, with the run so
    /// far, to `take`; the row of the run comes last. A truncated file is read to its end.
    ///
    /// Fails when a file is not a run file (with the line), `take` fails, or `go_on` returns
    /// false. Both are called on the caller's thread, `go_on` regularly.
    pub fn read<E: From<LoadError>>(
        &self,
        wanted: &[Table],
        mut go_on: impl FnMut() -> bool,
        mut take: impl FnMut(&mut RunRow, Table, Batch) -> Result<(), E>,
    ) -> Result<(), E> {
        let (threads, pieces) = (self.threads.max(1), self.pieces());
        std::thread::scope(|scope| {
            // Thread k of n reads chunks k, k + n, k + 2n, …
            let done = (0..threads).map(|first| {
                let (read, done) = sync_channel(AHEAD);
                let mut own = pieces.iter().skip(first).step_by(threads);
                scope.spawn(move || {
                    let mut scratch = Scratch::default();
                    // The receiver is dropped after an error.
                    own.try_for_each(|piece| {
                        read.send(self.piece(piece, wanted, &mut scratch)).map_err(drop)
                    })
                });
                done
            });
            let done: Vec<_> = done.collect();
            let mut run = RunRow::default();
            for (index, (file, range)) in pieces.iter().enumerate() {
                let ListedFile { path, levels, len } = &self.files[*file];
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
                    let row = Batch::from_columns(run.row(&self.factors, 1));
                    take(&mut run, Table::Runs, row)?;
                }
            }
            Ok(())
        })
    }

    fn piece<'a>(
        &self,
        (index, range): &Piece,
        wanted: &'a [Table],
        scratch: &mut Scratch,
    ) -> Result<Chunk<'a>, Fault> {
        let ListedFile { path, len, .. } = &self.files[*index];
        let file = File::open(path).map_err(Fault::Io)?;
        Chunk::read(&file, range.clone(), *len, *index as u32, wanted, scratch)
    }

    fn pieces(&self) -> Vec<Piece> {
        let of_file = |(file, ListedFile { len, .. }): (usize, &ListedFile)| {
            // An empty file has a chunk, too.
            let starts = (0..len.div_ceil(self.piece_bytes).max(1)).map(|at| at * self.piece_bytes);
            let range = |start: u64| start..(start + self.piece_bytes).min(*len);
            starts.map(|start| (file, range(start))).collect::<Vec<Piece>>()
        };
        self.files.iter().enumerate().flat_map(of_file).collect()
    }
}

fn next<T>(done: &Receiver<T>, go_on: &mut impl FnMut() -> bool) -> Result<T, LoadError> {
    loop {
        if !go_on() {
            return Err(LoadError::Stopped);
        }
        match done.recv_timeout(ASK_EVERY) {
            Ok(read) => return Ok(read),
            Err(RecvTimeoutError::Timeout) => {}
            // The thread panicked, which the scope reports.
            Err(RecvTimeoutError::Disconnected) => return Err(LoadError::Stopped),
        }
    }
}
