//! Run files as tables ([`Table`]).
//!
//! This reader accepts the same files as [`model::Run::parse`] (property test), but faster:
//! several threads read files in chunks, and parse usual `sample` lines directly into columns.
//! [`RunFiles::read`] streams batches in bounded memory; [`load`] keeps them.

mod batch;
mod checksum;
mod chunk;
mod column;
mod frame;
mod reading;
mod run_row;
mod sample_line;
mod tables;

#[cfg(test)]
mod tests;

pub use batch::Batch;
pub use column::{Cells, Column, Words};
pub use frame::{Frame, load};
pub use reading::{LoadError, RunFiles};
pub use run_row::RunRow;
pub use tables::Table;
