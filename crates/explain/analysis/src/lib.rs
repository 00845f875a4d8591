//! Comparison (also as runs are made), attribution, bisection and sweeps of observations; the
//! responsiveness matrix, sessions and memory jobs; the parts of delays.
//!
//! **Invariant:** pure functions of plain data: no files, output or clocks; deterministic to the
//! byte.

pub mod ab;
mod against_itself;
pub mod attribution;
pub mod bisect;
mod command;
mod command_counts;
pub mod comparison;
mod dataset;
mod ending;
pub mod explained;
mod figures;
pub mod freeze;
pub mod history;
mod memory_job;
pub mod published;
pub mod quantity;
mod remarks;
mod repetitions;
pub mod responsiveness;
mod runs;
pub mod session;
mod setup;
pub mod sweep;

pub use against_itself::{AgainstItself, Floor, against_itself};
pub use command::{CommandTime, CommandTimes, CountedOf};
pub use command_counts::CommandCount;
pub use dataset::{Dataset, Direction, Factor, Response, Standing, Trial, Values};
pub use ending::{Ending, OUTCOME};
pub use figures::PrintedFigure;
pub use memory_job::{MemoryJob, MemoryJobRow, MemoryWork};
pub use remarks::{Remarks, Skipped, by_load};
pub use repetitions::Repetition;
pub use runs::from_runs;
pub use session::Session;
pub use setup::{HOST, Machine, Setup, seeds, seeds_text};
pub use stats::Refused;

use std::fmt::Display;

use itertools::Itertools;
use model::CounterSet;

/// Most items that [`listed`] names.
pub const MOST_LISTED: usize = 10;

/// Smallest and largest value; ∞ and -∞ if empty.
pub(crate) fn extent(values: &[f64]) -> (f64, f64) {
    let begin = (f64::INFINITY, f64::NEG_INFINITY);
    values.iter().fold(begin, |(low, high), value| (low.min(*value), high.max(*value)))
}

/// Whether all values of one side are above all of the other.
pub fn are_apart(one: &[f64], other: &[f64]) -> bool {
    let (one, other) = (extent(one), extent(other));
    one.1 < other.0 || other.1 < one.0
}

/// Joins sentences; `None` if there are none.
pub(crate) fn joined(sentences: impl IntoIterator<Item = String>) -> Option<String> {
    Some(sentences.into_iter().join("; ")).filter(|text| !text.is_empty())
}

/// The first items, and how many more there are.
pub fn listed<T: Display>(items: &[T]) -> String {
    let first = items.iter().take(MOST_LISTED).join(", ");
    match items.len().checked_sub(MOST_LISTED) {
        None | Some(0) => first,
        Some(more) => format!("{first} and {more} more"),
    }
}

/// Refuses an unknown name and lists the known ones.
pub(crate) fn unknown<'a>(what: String, known: impl IntoIterator<Item = &'a String>) -> Refused {
    Refused::new(format!("{what}; choose from {}", known.into_iter().join(", ")))
}

/// The increase of a counter; `None` if a set lacks it or it shrank.
pub(crate) fn increase(
    before: &CounterSet,
    after: &CounterSet,
    source: &str,
    name: &str,
) -> Option<u64> {
    after.get(source)?.get(name)?.checked_sub(*before.get(source)?.get(name)?)
}

/// Distinct items in order of first occurrence.
pub fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// The values of each key, in order of first occurrence.
pub fn grouped<K: PartialEq, V>(all: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in all {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}
