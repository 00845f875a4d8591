//! Results in the formats of others: tables as CSV and Parquet, Go benchmark lines, OpenMetrics.
//!
//! **Invariant:** writers are functions of what they get: the same results give the same bytes.
//! Tables are written batch by batch and held in pieces of bounded size, whatever the size of a
//! run. Which tables run files have, and what stands in them, is declared by [`frames::Table`].

mod csv_file;
pub mod go;
mod observed;
pub mod openmetrics;
mod parquet_file;
mod run_tables;
mod sink;

pub use csv_file::CsvFile;
pub use observed::observed;
pub use parquet_file::ParquetFile;
pub use run_tables::RunTables;
pub use sink::{ExportError, Sink};
