//! Writes the tables of run files in two passes: the first one finds the names of columns.

use std::collections::BTreeSet;
use std::path::PathBuf;

use results::{Batch, Column, LoadError, RunFiles, RunRow, Table};

use crate::sink::{ExportError, Sink};

/// Chunk size of run files, which bounds memory use.
const PIECE_BYTES: u64 = 1 << 20;

/// Run files as tables.
pub struct RunTables {
    files: RunFiles,
    names: [BTreeSet<String>; Table::ALL.len()],
    /// The table of the first measurement; `None` if there is none.
    measured: Option<Table>,
}

impl RunTables {
    /// Finds and reads the run files at a path. Fails when there is none, or one is unreadable.
    pub fn find(path: PathBuf) -> Result<Self, LoadError> {
        let mut files = RunFiles::find(&[path])?;
        files.piece_bytes = PIECE_BYTES;
        let mut names = [const { BTreeSet::new() }; Table::ALL.len()];
        let mut measured = None;
        let wide = [Table::Samples, Table::Work, Table::Passes];
        let add = |_: &mut RunRow, table: Table, batch: Batch| -> Result<(), LoadError> {
            if batch.rows() > 0 {
                measured.get_or_insert(table);
            }
            let known = &mut names[table as usize];
            let new: Vec<&str> = batch.names().filter(|name| !known.contains(*name)).collect();
            known.extend(new.into_iter().map(str::to_owned));
            Ok(())
        };
        files.read(&wide, || true, add)?;
        Ok(Self { files, names, measured })
    }

    /// The table of what was measured: the samples of a probe, or the work or passes of a job.
    pub fn measured_table(&self) -> Table {
        self.measured.unwrap_or(Table::Samples)
    }

    /// The columns of a table without rows. Fails if two have the same name.
    pub fn columns(&self, table: Table) -> Result<Vec<Column>, ExportError> {
        let columns = self.whole(&RunRow::default(), table, self.files.empty(table));
        let mut seen = BTreeSet::new();
        match columns.iter().find(|column| !seen.insert(&column.name)) {
            Some(twice) => Err(ExportError::SameName(twice.name.clone().into_owned())),
            None => Ok(columns),
        }
    }

    /// Reads the files again and writes their rows into these sinks. Fails when rows cannot be
    /// written, or something such as a histogram is unreadable.
    pub fn write(&self, sinks: Vec<(Table, Box<dyn Sink + '_>)>) -> Result<(), ExportError> {
        let (wanted, mut sinks): (Vec<Table>, Vec<Box<dyn Sink>>) = sinks.into_iter().unzip();
        let write = |run: &mut RunRow, table: Table, batch: Batch| {
            let unreadable = run.unreadable.take().filter(|_| wanted.contains(&Table::Histograms));
            if let Some(error) = unreadable {
                return Err(ExportError::Histogram(run.run_id().to_owned(), error));
            }
            match wanted.iter().position(|wanted| *wanted == table) {
                Some(sink) => sinks[sink].rows(&self.whole(run, table, batch)),
                None => Ok(()),
            }
        };
        self.files.read(&wanted, || true, write)?;
        sinks.into_iter().try_for_each(Sink::finish)
    }

    /// All columns of a batch, and the run's repeated ones.
    fn whole(&self, run: &RunRow, table: Table, batch: Batch) -> Vec<Column> {
        let rows = batch.rows();
        let mut columns = batch.columns(&self.names[table as usize], table.prefix());
        if !matches!(table, Table::Runs | Table::Counters | Table::Events) {
            columns.splice(1..1, run.of_run(rows));
        }
        columns
    }
}
