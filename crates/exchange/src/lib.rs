//! Tables of run files and observations as files: CSV and Parquet.
//!
//! **Invariant:** the same results give the same bytes. Tables of run files ([`frames::Table`])
//! are written batch by batch in bounded memory.

mod csv_file;
mod observed;
mod parquet_file;
mod run_tables;
mod sink;

pub use csv_file::CsvFile;
pub use observed::observed;
pub use parquet_file::ParquetFile;
pub use run_tables::RunTables;
pub use sink::{ExportError, Sink};
