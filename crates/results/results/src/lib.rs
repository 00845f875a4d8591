//! Results folders: run files, the manifest of an experiment, and run files as tables ([`Table`]).
//!
//! - [`run_files`], [`manifest`]: files as they are written, found and read;
//! - `tables`, `run_row`: the columns, declared once; `column`, `batch`, `frame` hold them;
//! - `reading`, `chunk`, `sample_line`, `checksum`: the reader of tables.
//!
//! The reader of tables accepts the same files as [`model::Run::parse`] (property test), but faster:
//! several threads read files in chunks, and parse usual `sample` lines directly into columns.
//! [`RunFiles::read`] streams batches in bounded memory; [`load`] keeps them.

mod batch;
mod checksum;
mod chunk;
mod column;
mod error;
mod frame;
pub mod manifest;
mod reading;
pub mod run_files;
mod run_row;
mod sample_line;
mod tables;

#[cfg(test)]
mod tests;

pub use batch::Batch;
pub use column::{Cells, Column, Words};
pub use error::ResultsError;
pub use frame::{Frame, load};
pub use reading::{LoadError, RunFiles};
pub use run_row::RunRow;
pub use tables::Table;
