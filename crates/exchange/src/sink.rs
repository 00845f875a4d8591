//! What takes the rows of a table, and what may go wrong.

use std::io;

use frames::{Column, LoadError};
use parquet::errors::ParquetError;

/// Something that takes the rows of one table; it fails where they cannot be written.
pub trait Sink {
    /// Adds rows: all columns of the table, of one length.
    fn rows(&mut self, columns: &[Column]) -> Result<(), ExportError>;

    /// Writes what is still held, and the end of the file.
    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}

/// Rows that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What is to be written cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The writer of CSV refused.
    #[error("cannot write CSV: {0}")]
    Csv(#[from] csv::Error),
    /// The writer of Parquet refused.
    #[error("cannot write Parquet: {0}")]
    Parquet(#[from] ParquetError),
    /// A histogram that cannot be read.
    #[error("run {run_id}: {source}")]
    Histogram {
        /// The run.
        run_id: String,
        /// What is wrong.
        source: model::histogram::HistogramError,
    },
    /// Two columns of one name.
    #[error("two columns would be named {0:?}: rename the factor")]
    SameName(String),
}

impl ExportError {
    /// Whether it is that the reader of what was written went away (`| head`).
    pub fn is_of_reader(&self) -> bool {
        let is_broken = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
        match self {
            Self::Io(error) => is_broken(error),
            Self::Csv(error) => match error.kind() {
                csv::ErrorKind::Io(error) => is_broken(error),
                _ => false,
            },
            Self::Parquet(ParquetError::External(error)) => {
                error.downcast_ref::<io::Error>().is_some_and(is_broken)
            }
            _ => false,
        }
    }
}
