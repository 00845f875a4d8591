//! The doctor's view of the running machine.
//!
//! - `survey`: its counters; `bounded` stays cheap on large machines;
//! - `calibrate`, `cost_cache`: its [`unit_costs`];
//! - `looks`: the snapshots within one interval ([`Looks`]);
//! - `forever`: [`watch_forever`], which the [`Server`] of metrics and the black box need;
//! - `ring`, `segment`, `recorder`: the black box, a [`Ring`] of recordings on disk.

mod bounded;
mod calibrate;
mod cost_cache;
mod forever;
mod glance;
mod http;
mod looks;
mod recorder;
mod reserve;
mod ring;
mod rotation;
mod segment;
mod survey;
mod timed;

pub use cost_cache::{CachedCosts, unit_costs};
pub use forever::{INTERVAL_NS_MIN, become_steadfast, watch_forever};
pub use http::Server;
pub use looks::{LEAST_PAUSE_NS, Looks};
pub use recorder::Recorder;
pub use ring::{RING_BYTES_MIN, Ring};
pub use segment::{Segment, read_whole, segments};
pub use survey::Survey;
