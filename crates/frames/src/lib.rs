//! Run files as columns.
//!
//! [`load`] reads run files into [`Frames`]: tables in Arrow's memory layout, one for each kind of
//! thing that is in a run file. What is a run file and what is damage is decided by
//! [`model::Run::parse`]; this reader agrees with it (property test) and differs in speed only:
//! files are read in pieces, by several threads, and a `sample` line of the usual form goes from
//! its bytes into columns without anything in between.

mod checksum;
mod chunk;
mod columns;
mod load;
mod names;
mod run_table;
mod sample_line;
mod table;
mod tables;

pub use load::{LoadError, load};
pub use table::Table;
pub use tables::Frames;
