//! Traces of other tools: read, refused, written and read again.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

mod detection;
mod importers;
mod limits;
mod round_trip;
mod support;
