//! Run files as tables: the one reader of their lines into columns, and the one declaration of the
//! columns ([`Table`]).
//!
//! What is a run file and what is damage is decided by [`model::Run::parse`]; this reader agrees
//! with it (property test) and differs in speed only: files are read in pieces, by several threads,
//! and a `sample` line of the usual form goes from its bytes into columns without anything in
//! between. [`RunFiles::read`] hands on batch after batch in bounded memory; [`load`] keeps them.

mod batch;
mod checksum;
mod chunk;
mod column;
mod frame;
mod reading;
mod run_row;
mod sample_line;
mod tables;
mod words;

#[cfg(test)]
mod tests;

pub use batch::Batch;
pub use column::{Cell, Cells, Column};
pub use frame::{Frame, load};
pub use reading::{LoadError, RunFiles};
pub use run_row::RunRow;
pub use tables::Table;
pub use words::Words;
