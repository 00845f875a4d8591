//! Receivers of rows, and their errors.

use std::io;

use parquet::errors::ParquetError;
use results::{Column, LoadError};

/// Receives the rows of one table; fails when they cannot be written.
pub trait Sink {
    /// Adds rows: all columns of the table with equal lengths.
    fn rows(&mut self, columns: &[Column]) -> Result<(), ExportError>;

    /// Writes buffered rows and the end of the file.
    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}

/// Rows that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The run files cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// CSV cannot be written.
    #[error("cannot write CSV: {0}")]
    Csv(#[from] csv::Error),
    /// Parquet cannot be written.
    #[error("cannot write Parquet: {0}")]
    Parquet(#[from] ParquetError),
    /// An unreadable histogram: the run, and the reason.
    #[error("run {0}: {1}")]
    Histogram(String, #[source] model::histogram::HistogramError),
    /// Two columns with the same name.
    #[error("two columns would be named {0:?}: rename the factor")]
    SameName(String),
}

impl ExportError {
    /// Whether the output's reader exited (`| head`).
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
