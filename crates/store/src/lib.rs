//! Results folders, manifests, files with results of other programs, and the published results
//! shipped here.
//!
//! **Invariant:** readers refuse with the line number and the reason; they never guess or panic.

pub mod config;
pub mod curve;
mod error;
pub mod manifest;
pub mod observations;
pub mod paired_runs;
pub mod reference;
pub mod results;

pub use curve::curves;
pub use error::StoreError;
pub use observations::observations;
