//! The doctor's view of the running machine: a [`Survey`] of its counters, a [`BoundedSurvey`] that
//! stays cheap on large machines, [`unit_costs`], a [`Ring`] of recordings on disk, and the [`Server`] of
//! metrics.

mod bounded;
mod calibrate;
mod cost_cache;
mod glance;
mod http;
mod reserve;
mod ring;
mod rotation;
mod segment;
mod survey;
mod timed;

pub use bounded::BoundedSurvey;
pub use cost_cache::{CachedCosts, unit_costs};
pub use http::Server;
pub use ring::{RING_BYTES_MIN, Ring};
pub use segment::{Segment, read_whole, segments};
pub use survey::Survey;
