//! Attribution of published and of planted experiments.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic")]

mod multics;
mod planted;
mod refusals;
mod support;
