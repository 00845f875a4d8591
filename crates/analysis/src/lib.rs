//! Observations, whatever they come from, and what they say: comparison, attribution, bisection,
//! sweeps; and what a delay consists of.
//!
//! **Invariant:** plain data in, plain data out. Nothing here opens a file, prints, or knows a
//! clock; the same input gives the same bytes.

mod against_itself;
pub mod attribution;
pub mod bisect;
pub mod comparison;
mod dataset;
mod ending;
pub mod explained;
mod memory_work;
pub mod published;
mod runs;
mod standing;
pub mod sweep;

pub use against_itself::{AgainstItself, Floor, against_itself};
pub use dataset::{Dataset, Factor, Response, Trial, Values};
pub use ending::{Ending, OUTCOME};
pub use memory_work::MemoryWork;
pub use runs::from_runs;
pub use standing::Standing;
