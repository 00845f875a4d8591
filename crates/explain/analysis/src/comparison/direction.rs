//! Verdicts on responses of which it is unknown whether more is better.

use stats::Verdict;

use crate::Direction;

/// A difference where it is unknown which way is better.
pub(super) fn without_direction(verdict: Verdict, direction: Direction) -> Verdict {
    match (verdict, direction) {
        (Verdict::Regression | Verdict::Improvement, Direction::Unknown) => Verdict::Difference,
        _ => verdict,
    }
}
