//! Results in other programs' formats: a file or a folder for each program, with what reads its results
//! and what writes results for it.
//!
//! - [`format`]: the formats that are read, and [`dataset`], which reads a text of any of them;
//! - `encoded_text`, `folder`: texts as they are kept, which files of a folder have results;
//! - `dataset`, `measurement`, `results`: from what a program printed to observations;
//! - [`go`], [`hyperfine`], [`resp1`], `csv`, `observed`: read and written;
//! - [`bencher`], [`kcidb`], [`openmetrics`], `parquet_file`: written; [`RunTables`] writes the tables
//!   of run files into any [`Sink`], batch by batch in bounded memory.
//!
//! **Invariant:** no file is opened here, except logs by `mmtests::folder` and run files by the crate
//! `results`. Readers refuse with the
//! line number and the reason; they never guess or panic. The same results give the same bytes.

pub mod bencher;
mod copies;
mod csv;
mod cyclictest;
mod cyclictest_text;
mod dataset;
mod encoded_text;
mod folder;
mod format;
pub mod go;
mod google;
pub mod hyperfine;
mod interbench;
pub mod kcidb;
pub mod lkp;
mod measurement;
pub mod mmtests;
mod observed;
pub mod openmetrics;
mod other_outputs;
mod parquet_file;
mod perf;
mod perf_plain;
mod phoronix;
mod repeats;
pub mod resp1;
mod results;
mod run_tables;
mod schbench;
mod sink;
mod table;

pub use csv::CsvFile;
pub use dataset::{Options, Refusal};
pub use encoded_text::decode;
pub use folder::{folder_dataset, result_files};
pub use format::{Format, dataset};
pub use observed::observed;
pub use parquet_file::ParquetFile;
pub use run_tables::RunTables;
pub use sink::{ExportError, Sink};
