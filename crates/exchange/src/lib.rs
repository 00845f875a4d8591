//! Results in the formats of others: tables as CSV and Parquet, Go benchmark lines, OpenMetrics.
//!
//! **Invariant:** writers are functions of what they get: the same results give the same bytes.
//! Tables are written row by row and held in pieces of bounded size, whatever the size of a run.
//! Nothing here opens a file.

mod csv_file;
pub mod go;
mod observed;
pub mod openmetrics;
mod parquet_file;
mod run_table;
mod table;
mod tables;

pub use csv_file::CsvFile;
pub use observed::observed;
pub use parquet_file::ParquetFile;
pub use run_table::RunOf;
pub use table::{Cell, Column, ExportError, Kind, RowSink};
pub use tables::{Names, Rows, Table};
