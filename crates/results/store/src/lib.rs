//! What a path has, whether results of this program or of others, and the published results shipped
//! here.
//!
//! **Invariant:** readers refuse with the line number and the reason; they never guess or panic.

pub mod config;
pub mod curve;
mod error;
pub mod observations;
pub mod paired_runs;
pub mod reference;

pub use curve::curves;
pub use observations::observations;
