//! The ratio of two runs, whose samples follow each other in time.
//!
//! Such samples are dependent, so the interval of Mann and Whitney's test is too narrow. Here it
//! is wider by the square root of the measured inflation of the rank statistic's variance
//! (docs/comparing.md). It describes these two runs, not the variation between runs.

use model::Observation;
use statrs::function::erf::{erfc, erfc_inv};

use crate::bounded::{beyond, has_bounds, joined, limited, raised};
use crate::comparison::AllowedRatio;
use crate::hodges_lehmann::pairwise_inversion;
use crate::rank_inversion::Inversion;
use crate::{RatioInterval, alpha, mean, standard_deviation};

/// Fewer batches count as independent.
const FEWEST_BATCHES: usize = 8;
/// Fewest batches for an autocorrelation beyond the first lag.
const FEWEST_FOR_LAGS: usize = 20;
/// Largest accepted autocorrelation: at 0.95 forty samples count as one.
const LARGEST_CORRELATION: f64 = 0.95;

/// Hodges and Lehmann's ratio of `treated` to `baseline` with an interval that allows for
/// autocorrelation. Both are batches in time order, of one sample or of unordered ones.
///
/// The autocorrelation is that at the first lag, corrected for bias (Kendall 1954), or the sum
/// over lags (Geyer 1992) if larger. `None` as [`crate::hodges_lehmann_ratio`].
pub fn run_ratio(
    baseline: &[Vec<f64>],
    treated: &[Vec<f64>],
    confidence: f64,
) -> Option<RatioInterval> {
    let alpha = alpha(confidence)?;
    let (first, second) = (baseline.concat(), treated.concat());
    let inversion = pairwise_inversion(&first, &second)?;
    let mut pooled = [&first[..], &second[..]].concat();
    pooled.sort_by(f64::total_cmp);
    let weights = [1.0 / first.len() as f64, 1.0 / second.len() as f64];
    let inflated = weights[0] * inflation(&scores(baseline, &pooled))
        + weights[1] * inflation(&scores(treated, &pooled));
    let widening = (inflated / (weights[0] + weights[1])).sqrt();
    let tail = |from: f64, by: f64| erfc(erfc_inv(from) * by);
    let nominal = tail(alpha, widening).max(f64::EPSILON);
    let found = inversion.interval(1.0 - nominal)?;
    let attained = 1.0 - tail(1.0 - found.confidence_attained, 1.0 / widening);
    // As requested, unless there are too few values for it.
    let confidence_attained =
        if widening > 1.0 && attained.is_finite() { attained } else { found.confidence_attained };
    Some(RatioInterval { confidence_attained, ..found })
}

/// As [`run_ratio`] for observations, with the estimates possible given censored values.
pub fn bounded_run_ratio(
    baseline: &[Vec<Observation>],
    treated: &[Vec<Observation>],
    confidence: f64,
) -> Option<(RatioInterval, Option<AllowedRatio>)> {
    let values = |batches: &[Vec<Observation>], to: Option<f64>| -> Vec<Vec<f64>> {
        batches.iter().map(|batch| raised(batch, to)).collect()
    };
    let [is_first, is_second] =
        [baseline, treated].map(|batches| batches.iter().any(|batch| has_bounds(batch)));
    let beyond = beyond(baseline.iter().chain(treated).flatten());
    let found = |first: Option<f64>, second: Option<f64>| {
        run_ratio(&values(baseline, first), &values(treated, second), confidence)
    };
    if !is_first && !is_second {
        return Some((found(None, None)?, None));
    }
    let (smallest, largest) = (found(Some(beyond), None)?, found(None, Some(beyond))?);
    let smallest = if is_first { limited(smallest, 0.0, false) } else { smallest };
    let largest = if is_second { limited(largest, f64::INFINITY, false) } else { largest };
    let (found, allowed) = joined(smallest, largest);
    Some((found, Some(allowed)))
}

/// The share of all values below each value, ties by half.
fn scores(batches: &[Vec<f64>], pooled: &[f64]) -> Vec<Vec<f64>> {
    let score = |value: &f64| {
        let below = pooled.partition_point(|other| other < value);
        let within = pooled.partition_point(|other| other <= value);
        (below + within) as f64 / (2 * pooled.len()) as f64
    };
    let of_batch = |batch: &Vec<f64>| batch.iter().map(score).collect();
    batches.iter().filter(|batch| !batch.is_empty()).map(of_batch).collect()
}

/// Variance of the mean of all scores over that of independent ones, 1 or more.
fn inflation(batches: &[Vec<f64>]) -> f64 {
    let means: Vec<f64> = batches.iter().filter_map(|batch| mean(batch)).collect();
    let all = batches.concat();
    let (Some(between), Some(within)) = (standard_deviation(&means), standard_deviation(&all))
    else {
        return 1.0;
    };
    if means.len() < FEWEST_BATCHES || within == 0.0 {
        return 1.0;
    }
    let of_means = between * between * correlation_time(&means) / means.len() as f64;
    (of_means * all.len() as f64 / (within * within)).max(1.0)
}

/// How many values of a series count as one independent value, 1 or more.
fn correlation_time(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let Some(middle) = mean(values) else { return 1.0 };
    let product = |lag: usize| -> f64 {
        let pairs = values.iter().zip(&values[lag..]);
        pairs.map(|(one, other)| (one - middle) * (other - middle)).sum()
    };
    let whole = product(0);
    if whole <= 0.0 {
        return 1.0;
    }
    let at = |lag: usize| product(lag) / whole;
    // Corrects for the mean, which was estimated from the same values.
    let first = ((count * at(1) + 1.0) / (count - 4.0)).clamp(0.0, LARGEST_CORRELATION);
    let by_first = (1.0 + first) / (1.0 - first);
    if values.len() < FEWEST_FOR_LAGS {
        return by_first;
    }
    let neighbours = (0..values.len() / 4).map(|pair| at(2 * pair) + at(2 * pair + 1));
    let sum: f64 = neighbours.take_while(|sum| *sum > 0.0).sum();
    by_first.max(2.0 * sum - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hodges_lehmann_ratio;

    fn singles(values: &[f64]) -> Vec<Vec<f64>> {
        values.iter().map(|value| vec![*value]).collect()
    }

    #[test]
    fn few_samples_are_taken_as_independent() {
        let (first, second) = ([10.0, 11.0, 12.0, 10.5, 11.5], [15.0, 16.0, 14.0, 15.5, 17.0]);
        let plain = hodges_lehmann_ratio(&first, &second, 0.95).unwrap();
        assert_eq!(run_ratio(&singles(&first), &singles(&second), 0.95), Some(plain));
        assert_eq!(run_ratio(&singles(&first), &[], 0.95), None);
        assert_eq!(run_ratio(&singles(&first), &singles(&[0.0]), 0.95), None);
        assert_eq!(run_ratio(&singles(&first), &singles(&second), 1.0), None);
    }

    #[test]
    fn a_bound_opens_the_side_to_which_it_may_move_the_ratio() {
        let exact = |value: f64| vec![Observation::exact(value)];
        let baseline: Vec<_> = [10.0, 11.0, 12.0].map(exact).into();
        let at_least = |value: f64| vec![Observation::at_least(value)];
        // One of three cannot move the middle, but the end of the interval.
        let once = vec![exact(20.0), at_least(30.0), exact(25.0)];
        let (found, allowed) = bounded_run_ratio(&baseline, &once, 0.9).unwrap();
        assert_eq!((found.high, allowed.unwrap().mark()), (f64::INFINITY, ""));
        let hung = vec![exact(20.0), at_least(30.0), at_least(25.0)];
        let (found, allowed) = bounded_run_ratio(&baseline, &hung, 0.9).unwrap();
        assert_eq!((found.high, allowed.unwrap().mark()), (f64::INFINITY, "≥ "));
        let (found, allowed) = bounded_run_ratio(&hung, &baseline, 0.9).unwrap();
        assert_eq!((found.low, allowed.unwrap().mark()), (0.0, "≤ "));
        let plain = run_ratio(&singles(&[10.0, 11.0, 12.0]), &singles(&[20.0, 25.0]), 0.9);
        let known = [exact(20.0), exact(25.0)];
        assert_eq!(bounded_run_ratio(&baseline, &known, 0.9), plain.map(|plain| (plain, None)));
    }

    #[test]
    fn slow_times_widen_the_interval_and_the_estimate_stays() {
        let value =
            |at: usize| 10.0 + f64::from(u8::from(at / 8 % 2 == 1)) + (at * 7 % 5) as f64 / 50.0;
        let first: Vec<f64> = (0..48).map(value).collect();
        let second: Vec<f64> = first.iter().map(|value| value * 1.3).collect();
        let plain = hodges_lehmann_ratio(&first, &second, 0.95).unwrap();
        let found = run_ratio(&singles(&first), &singles(&second), 0.95).unwrap();
        assert_eq!(found.ratio, plain.ratio);
        assert!(found.low < plain.low && found.high > plain.high, "{found:?} {plain:?}");
        assert!(found.confidence_attained >= 0.95);
        // Stretches whose inner order is not known: their means are used.
        let stretches: Vec<Vec<f64>> = first.chunks(4).map(<[f64]>::to_vec).collect();
        assert!(inflation(&scores(&stretches, &first)) > 2.0);
    }
}
