//! Delays quantised by the kernel's timer tick, which show no smaller difference or equivalence.

use stats::Verdict;

use super::{Cell, Outcome};

/// Frequencies in use, the longest tick first, as its multiples are multiples of shorter ones.
const HZ: [u32; 4] = [100, 250, 300, 1000];
/// How far below or above a multiple a value may lie, in ticks.
const BELOW: f64 = 0.02;
const ABOVE: f64 = 0.05;
/// Fewest values that show it: one is a multiple by chance in 7 %, four in 1 of 40,000.
const FEWEST_VALUES: usize = 4;
/// The unit of clock readings; values in others may be rounded.
const UNIT: &str = "ns";

/// How a cell's values are quantised.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Tick {
    /// The kernel's timer frequency that fits.
    pub hz: u32,
    /// A tick in ns.
    pub tick_ns: f64,
    /// Whether a tick exceeds the margin, so that equivalence within it cannot be shown.
    pub exceeds_margin: bool,
    /// Whether an equivalence was revoked for that.
    pub hides_equivalence: bool,
}

/// Notes quantised values; revokes an equivalence finer than a tick unless they are `exact`.
pub(super) fn add(cell: &mut Cell, unit: &str, margin: f64, exact: bool) {
    if unit != UNIT {
        return;
    }
    let Some(mut tick) = tick(cell, margin) else { return };
    let tick_ms = (tick.tick_ns / 1e3).round() / 1e3;
    tick.hides_equivalence = cell.verdict == Verdict::Equivalent && tick.exceeds_margin && !exact;
    cell.tick = Some(tick);
    let note = if tick.hides_equivalence {
        cell.verdict = Verdict::CannotTell;
        if let Outcome::Judged(found) = &mut cell.outcome {
            found.verdict = Verdict::CannotTell;
        }
        "which is more than the margin, so no equivalence is shown"
    } else {
        "and nothing finer is shown"
    };
    let place = format!("{} {}", cell.response, cell.label());
    cell.notes.push(format!(
        "{}: all values are multiples of {tick_ms} ms, a timer tick at HZ={}: the resolution is \
         one tick, {note}",
        place.trim_end(),
        tick.hz
    ));
}

fn tick(cell: &Cell, margin: f64) -> Option<Tick> {
    let values = || cell.first.values.iter().chain(&cell.second.values).map(|it| it.value);
    if values().count() < FEWEST_VALUES {
        return None;
    }
    let hz =
        HZ.into_iter().find(|hz| values().all(|value| is_multiple(value, 1e9 / f64::from(*hz))))?;
    let tick_ns = 1e9 / f64::from(hz);
    let exceeds_margin = cell.first.median?.value * margin < tick_ns;
    Some(Tick { hz, tick_ns, exceeds_margin, hides_equivalence: false })
}

fn is_multiple(value_ns: f64, tick_ns: f64) -> bool {
    let ticks = value_ns / tick_ns;
    let beyond = ticks - (ticks + BELOW).floor();
    ticks + BELOW >= 1.0 && (-BELOW..=ABOVE).contains(&beyond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_a_little_after_a_tick_is_a_multiple_of_it() {
        let tick_ns = 4e6;
        for value_ns in [4e6, 4.15e6, 7.95e6, 8.1e6, 400.1e6] {
            assert!(is_multiple(value_ns, tick_ns), "{value_ns}");
        }
        for value_ns in [0.0, 50e3, 3.8e6, 4.3e6, 6e6, 7.8e6] {
            assert!(!is_multiple(value_ns, tick_ns), "{value_ns}");
        }
    }
}
