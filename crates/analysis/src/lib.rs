//! Observations, whatever they come from, and what they say: comparison and attribution.
//!
//! **Invariant:** plain data in, plain data out. Nothing here opens a file, prints, or knows a
//! clock; the same input gives the same bytes.

pub mod attribution;
pub mod comparison;
mod dataset;
mod runs;

pub use dataset::{Dataset, Factor, Response, Trial, Values};
pub use runs::from_runs;
