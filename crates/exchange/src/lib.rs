//! Results in other programs' formats: CSV, Parquet, Go benchmark lines, OpenMetrics,
//! hyperfine's JSON, the Bencher Metric Format, reports for KCIDB.
//!
//! **Invariant:** the same results give the same bytes. Tables of run files ([`frames::Table`])
//! are written batch by batch in bounded memory.

pub mod bencher;
mod csv_file;
pub mod go;
pub mod hyperfine;
pub mod kcidb;
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
