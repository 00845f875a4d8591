//! The trace format: what goes in comes out, whatever happens to the file.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

mod breakage;
mod round_trip;
mod support;
