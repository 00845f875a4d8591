//! Lower bounds taken as values, or raised beyond every value: the limits of a ratio.

use model::Observation;

use crate::RatioInterval;
use crate::comparison::AllowedRatio;

/// Bounds are raised to this multiple of the largest value. A ratio of ranks then has at least its
/// fourth root: half of a Walsh average, and half of the middle two of those.
pub(crate) const BEYOND: f64 = 1e120;
/// Only a raised bound makes a ratio this large, or its reciprocal.
const UNLIMITED: f64 = 1e29;

pub(crate) fn has_bounds(values: &[Observation]) -> bool {
    values.iter().any(|observed| observed.is_lower_bound)
}

pub(crate) fn beyond<'a>(values: impl Iterator<Item = &'a Observation>) -> f64 {
    BEYOND * values.map(|observed| observed.value).fold(0.0, f64::max)
}

pub(crate) fn raised(values: &[Observation], to: Option<f64>) -> Vec<f64> {
    let value = |observed: &Observation| match to {
        Some(to) if observed.is_lower_bound => to,
        _ => observed.value,
    };
    values.iter().map(value).collect()
}

/// Replaces each ratio due to a raised value only by `limit`, 0 or infinity; a mean entirely.
pub(crate) fn limited(found: RatioInterval, limit: f64, is_mean: bool) -> RatioInterval {
    let is_raised = |ratio: f64| ratio >= UNLIMITED || ratio * UNLIMITED <= 1.0;
    let limited = |ratio: f64| if is_mean || is_raised(ratio) { limit } else { ratio };
    let [ratio, low, high] = [found.ratio, found.low, found.high].map(limited);
    RatioInterval { ratio, low, high, ..found }
}

/// The interval from the smallest ratio to the largest, with the nontrivial estimate, and both.
pub(crate) fn joined(least: RatioInterval, most: RatioInterval) -> (RatioInterval, AllowedRatio) {
    let found = RatioInterval {
        ratio: if least.ratio == 0.0 { most.ratio } else { least.ratio },
        low: least.low,
        high: most.high,
        confidence_attained: least.confidence_attained.min(most.confidence_attained),
    };
    (found, AllowedRatio { lowest: least.ratio, highest: most.ratio })
}
