//! Miss-ratio curves against models so plain that they cannot be wrong, and against figures that
//! were computed by hand or by another program.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

mod exact;
mod naive;
mod over_time;
mod peer;
mod profile;
mod sampled;
mod sets;
