//! Samples with lower bounds: taken as values, or raised beyond every value.
//!
//! A response that was still unfinished when it was given up took *at least* so long. To leave it out
//! would make the slowest system look best; to take it as a value would understate it. Survival
//! analysis (Kaplan and Meier 1958) assumes that what is given up does not depend on what it would
//! have been, which is untrue here: the longest are given up.
//!
//! So a statistic is computed twice: with each bound at its value, and with each one raised beyond
//! every value. Quantiles, ranks and ratios of ranks never fall when a value rises, so the truth lies
//! between the two. Where both agree, the bounds did not matter; else the result is itself a bound,
//! and is printed as one.

use model::Observation;

use crate::comparison::AllowedRatio;
use crate::{RatioInterval, quantile};

/// Bounds are raised to this multiple of the largest value. A ratio of ranks then has at least its
/// fourth root: half of a Walsh average, and half of the middle two of those.
pub(crate) const BEYOND: f64 = 1e120;
/// Only a raised bound makes a ratio this large, or its reciprocal.
const UNLIMITED: f64 = 1e29;

/// Quantile at `probability` (0 to 1) as by [`quantile`], with each bound at its value.
///
/// It is a lower bound if larger values behind the bounds would raise it. A quantile never falls
/// when a value rises, so trying the largest ones suffices. `None` as in [`quantile`].
pub fn bounded_quantile(sample: &[Observation], probability: f64) -> Option<Observation> {
    let values: Vec<f64> = sample.iter().map(|one| one.value).collect();
    let value = quantile(&values, probability)?;
    let largest = values.iter().copied().fold(f64::MIN, f64::max);
    let beyond = largest + largest.abs().max(1.0);
    let raised = quantile(&raised(sample, Some(beyond)), probability);
    let is_lower_bound = raised.is_none_or(|raised| raised > value);
    Some(Observation { value, is_lower_bound })
}

/// The median of observations: see [`bounded_quantile`].
pub fn bounded_median(sample: &[Observation]) -> Option<Observation> {
    bounded_quantile(sample, 0.5)
}

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

/// Replaces each ratio that depends on a raised value with `limit`, 0 or infinity; a mean entirely.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_median_is_a_bound_where_bounds_decide_it() {
        let [fast, slow] = [Observation::exact(1.0), Observation::exact(9.0)];
        let [ten, eight, six] = [10.0, 8.0, 6.0].map(Observation::at_least);
        let median = |sample: &[Observation]| bounded_quantile(sample, 0.5);
        assert_eq!(median(&[fast, fast, ten, eight, six]), Some(six));
        assert_eq!(median(&[fast, fast, ten]), Some(fast));
        assert_eq!(median(&[fast, six, slow]), Some(six));
        assert_eq!(median(&[fast, slow, slow, six]), Some(Observation::at_least(7.5)));
        assert_eq!(median(&[]), None);
    }

    /// All ways in which the true values may lie, among the values of the sample and one beyond.
    fn every_truth(sample: &[Observation]) -> Vec<Vec<f64>> {
        let mut truths = vec![Vec::new()];
        for one in sample {
            let places: Vec<f64> = match one.is_lower_bound {
                false => vec![one.value],
                true => {
                    let others = sample.iter().map(|other| other.value);
                    others.chain([100.0]).filter(|place| *place >= one.value).collect()
                }
            };
            truths = truths
                .iter()
                .flat_map(|truth: &Vec<f64>| {
                    places.iter().map(move |place| [truth.as_slice(), &[*place]].concat())
                })
                .collect();
        }
        truths
    }

    proptest! {
        #[test]
        fn a_quantile_is_a_bound_if_and_only_if_some_truth_has_a_larger_one(
            sample in prop::collection::vec((0..6_u8, any::<bool>()), 1..6),
            probability in prop::sample::select(vec![0.0, 0.25, 0.5, 0.9, 1.0]),
        ) {
            let sample: Vec<Observation> = sample
                .into_iter()
                .map(|(value, is_lower_bound)| {
                    Observation { value: f64::from(value), is_lower_bound }
                })
                .collect();
            let found = bounded_quantile(&sample, probability).expect("finite values");
            let truths: Vec<f64> = every_truth(&sample)
                .iter()
                .map(|truth| quantile(truth, probability).expect("finite values"))
                .collect();
            prop_assert!(truths.iter().all(|truth| *truth >= found.value));
            prop_assert!(truths.contains(&found.value));
            prop_assert_eq!(
                found.is_lower_bound,
                truths.iter().any(|truth| *truth > found.value)
            );
        }
    }
}
