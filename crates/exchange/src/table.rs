//! What a table is to its writers: columns, and rows of cells.

use std::io;

use parquet::errors::ParquetError;

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number below 2^32.
    Small,
    /// A whole number below 2^64.
    Count,
    /// Any number.
    Number,
    /// Yes or no.
    Flag,
    /// A time of day, in ns since 1970 UTC.
    Time,
}

/// A column: its name and what its cells are. Any cell may be absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name, with its unit last.
    pub name: String,
    /// What its cells are.
    pub kind: Kind,
}

impl Column {
    /// A column.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind }
    }
}

/// Names and kinds of columns.
pub(crate) type Fixed = (&'static str, Kind);

pub(crate) fn columns(fixed: &[Fixed]) -> Vec<Column> {
    fixed.iter().map(|(name, kind)| Column::new(*name, *kind)).collect()
}

/// A cell of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Not measured.
    Absent,
    /// Of a column of [`Kind::Text`].
    Text(&'a str),
    /// Of [`Kind::Small`].
    Small(u32),
    /// Of [`Kind::Count`].
    Count(u64),
    /// Of [`Kind::Number`].
    Number(f64),
    /// Of [`Kind::Flag`].
    Flag(bool),
    /// Of [`Kind::Time`].
    Time(u64),
}

impl<'a> Cell<'a> {
    /// A count, if there is one.
    #[must_use]
    pub fn count(value: Option<u64>) -> Self {
        value.map_or(Self::Absent, Self::Count)
    }

    /// A text, if there is one.
    #[must_use]
    pub fn text(value: Option<&'a str>) -> Self {
        value.map_or(Self::Absent, Self::Text)
    }
}

/// Something that takes the rows of one table.
pub trait RowSink {
    /// Adds a row, which has a cell for each column.
    ///
    /// # Errors
    /// When it cannot be written.
    fn row(&mut self, cells: &[Cell]) -> Result<(), ExportError>;

    /// Writes what is still held, and the end of the file.
    ///
    /// # Errors
    /// When it cannot be written.
    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}

/// Rows that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
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
    #[must_use]
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
