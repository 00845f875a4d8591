//! The doctor's view of the running machine: a [`Survey`] of its counters and [`unit_costs`].

mod calibrate;
mod cost_cache;
mod survey;

pub use cost_cache::unit_costs;
pub use survey::Survey;
