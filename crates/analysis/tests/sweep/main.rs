//! Sweeps from the first level to the answer, on subjects of which the truth is known.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

mod counters;
mod grid;
mod published;
mod subject;
mod unmeasurable;
