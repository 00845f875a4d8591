//! Events during runs.

use std::path::Path;

use analysis::sweep::{Curve, SweepResult};
use model::{EndStatus, Line};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::segment::Segment;

/// Receives a driver's events.
pub(crate) type Listener<'a> = dyn FnMut(&Event<'_>) + Send + 'a;

/// An event. A closed set: every display handles each.
///
/// Serialized, it is an object whose `event` names the kind.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event<'a> {
    /// All segments are known, and none has run. Several may run at a time.
    Planned {
        /// The segments in their order.
        segments: &'a [Segment],
        /// Whether their time is virtual (of guests), faster or slower than the wall clock.
        is_virtual: bool,
    },
    /// A segment begins.
    Started {
        /// Its position in the order, from 0.
        index: usize,
    },
    /// The run of the segment wrote a line.
    Line {
        /// The segment's position in the order, from 0.
        index: usize,
        /// The line.
        #[serde(serialize_with = "as_json")]
        line: &'a Line,
    },
    /// A note for the user: a connection broke, a kernel was chosen.
    Note {
        /// The sentence.
        text: &'a str,
    },
    /// A look at a growing comparison that did not end it.
    Look {
        /// How sure it is so far, and how long it may still take.
        text: &'a str,
    },
    /// The segment has ended.
    Ended {
        /// Its position in the order, from 0.
        index: usize,
        /// How its run ended.
        status: EndStatus,
        /// The run file.
        path: &'a Path,
        /// Whether it was taken from the cache.
        cached: bool,
    },
    /// A segment cannot be run on this subject.
    Skipped {
        /// The segment's position in the order, from 0.
        index: usize,
        /// Why.
        reason: &'a str,
    },
    /// A batch of a sweep was measured.
    Curve {
        /// The level of the second parameter; empty without one.
        row: &'a str,
        /// The curve so far.
        curve: &'a Curve,
        /// The analysis so far.
        found: &'a SweepResult,
    },
    /// A measurement of a noisy bisection changed the probabilities.
    Likely {
        /// The axis.
        axis: &'a str,
        /// Its steps by name.
        steps: &'a [String],
        /// For each step, the probability that it is the first changed one.
        first_changed: &'a [f64],
        /// The probability that nothing changed.
        no_change: f64,
    },
}

/// The line without its counters, its largest part.
fn as_json<S: Serializer>(line: &Line, serializer: S) -> Result<S::Ok, S::Error> {
    let mut value: Value =
        serde_json::from_str(&line.to_json()).map_err(serde::ser::Error::custom)?;
    for name in ["before", "after", "counters"] {
        if let Some(counters) = value.get_mut(name) {
            *counters = json!({});
        }
    }
    value.serialize(serializer)
}
