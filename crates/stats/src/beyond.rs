//! Lower bounds taken as values, or raised beyond every value: what a ratio is at least and at most.

use model::Observation;

use crate::RatioInterval;
use crate::comparison::AllowedRatio;

/// A bound that says nothing is put this many times above the largest value. A ratio of ranks has
/// the fourth root of it at least: the mean of a raised and another value in a Walsh average, and
/// of two such averages in the middle of an even number.
pub(crate) const BEYOND: f64 = 1e120;
/// A ratio that only such a bound can make, in either direction.
const UNLIMITED: f64 = 1e29;

/// Whether there are lower bounds among the values.
pub(crate) fn has_bounds(values: &[Observation]) -> bool {
    values.iter().any(|observed| observed.is_lower_bound)
}

/// What is beyond all these values.
pub(crate) fn beyond<'a>(values: impl Iterator<Item = &'a Observation>) -> f64 {
    BEYOND * values.map(|observed| observed.value).fold(0.0, f64::max)
}

/// The values, with lower bounds as they are, or where they are raised to.
pub(crate) fn raised(values: &[Observation], to: Option<f64>) -> Vec<f64> {
    let value = |observed: &Observation| match to {
        Some(to) if observed.is_lower_bound => to,
        _ => observed.value,
    };
    values.iter().map(value).collect()
}

/// An interval with `limit`, 0 or infinite, for each ratio that only a raised value can make; of a
/// mean these are all, since it is without limit as soon as one value is.
pub(crate) fn limited(found: RatioInterval, limit: f64, is_mean: bool) -> RatioInterval {
    let is_raised = |ratio: f64| ratio >= UNLIMITED || ratio * UNLIMITED <= 1.0;
    let limited = |ratio: f64| if is_mean || is_raised(ratio) { limit } else { ratio };
    let [ratio, low, high] = [found.ratio, found.low, found.high].map(limited);
    RatioInterval { ratio, low, high, ..found }
}

/// From the lower end by the smallest ratio that is allowed to the upper end by the largest, with
/// the estimate of the two that is not trivial; and both estimates.
pub(crate) fn joined(
    smallest: RatioInterval,
    largest: RatioInterval,
) -> (RatioInterval, AllowedRatio) {
    let found = RatioInterval {
        ratio: if smallest.ratio == 0.0 { largest.ratio } else { smallest.ratio },
        low: smallest.low,
        high: largest.high,
        confidence_attained: smallest.confidence_attained.min(largest.confidence_attained),
    };
    (found, AllowedRatio { lowest: smallest.ratio, highest: largest.ratio })
}
