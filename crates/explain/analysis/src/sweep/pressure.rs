//! Pressure stall information of a measurement (`Documentation/accounting/psi.rst`).

use std::collections::BTreeMap;

use model::{CounterSet, Run};
use serde::Serialize;

use crate::increase;

/// Resources and kinds of stall, in the order in which they are shown, with their counters in us.
pub(super) const STALLS: [(&str, &str); 4] = [
    ("memory some", "memory_some_us"),
    ("memory full", "memory_full_us"),
    ("io some", "io_some_us"),
    ("io full", "io_full_us"),
];
/// Sources of these counters: the control group's own, else the machine's.
const SOURCES: [(&str, bool); 2] = [("memcg_psi", true), ("psi", false)];

/// How long tasks were stalled during a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Pressure {
    /// Whether it is that of the control group alone, and not of the whole machine.
    pub is_of_group: bool,
    /// How long it was observed, in s.
    pub seconds: f64,
    /// Share of that time in which some task, or all that were not idle (full), were stalled, by
    /// resource and kind: `memory some`.
    pub shares: BTreeMap<String, f64>,
}

impl Pressure {
    /// The pressure between two readings; `None` if no source was read at both, or no time passed.
    pub(super) fn between(
        before: &CounterSet,
        after: &CounterSet,
        elapsed_ns: f64,
    ) -> Option<Self> {
        let of_source = |(source, is_of_group)| {
            let share = |(name, counter): (&str, &str)| {
                let stalled_ns = increase(before, after, source, counter)? as f64 * 1e3;
                // The readings are not simultaneous.
                Some((name.to_owned(), (stalled_ns / elapsed_ns).min(1.0)))
            };
            let shares: BTreeMap<String, f64> = STALLS.into_iter().filter_map(share).collect();
            let seconds = elapsed_ns / 1e9;
            (!shares.is_empty()).then_some(Self { is_of_group, seconds, shares })
        };
        SOURCES.into_iter().find_map(of_source).filter(|_| elapsed_ns > 0.0)
    }

    /// The pressure over all readings of a run.
    pub(super) fn of_run(run: &Run) -> Option<Self> {
        let mut readings = run.lines.iter().flat_map(model::Line::readings);
        let ((first_ns, first), (last_ns, last)) = readings.next().zip(readings.last())?;
        Self::between(first, last, last_ns.saturating_sub(first_ns) as f64)
    }
}
