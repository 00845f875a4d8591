//! Sweeps from the first level to the answer, on subjects of which the truth is known.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

mod alarm;
mod counters;
mod false_alarms;
mod grid;
mod price;
mod published;
mod search;
mod steps;
mod subject;
mod unmeasurable;
