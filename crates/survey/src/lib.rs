//! The running machine, as the doctor needs it.
//!
//! - [`Survey`]: snapshots of its counters, and of those of all control groups and processes.
//! - [`unit_costs`]: what one fault, switch or copy costs on it, measured with bounded work and kept
//!   until the next boot.
//!
//! All that a rule needs to know is in `doctor`, which reads nothing itself.

mod calibrate;
mod cost_cache;
mod survey;

pub use cost_cache::unit_costs;
pub use survey::Survey;
