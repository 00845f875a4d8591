//! Student's and Welch's t: the difference of two means, of values or of their logarithms.

use crate::describe::{mean, standard_deviation};
use crate::{distributions, is_confidence};

/// A difference of means with its interval.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct MeanDifference {
    /// Mean of second - mean of first, in the unit of the values.
    pub difference: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Difference of the means of `second` and `first` by Welch's (1947) t: the variances may differ.
///
/// It supposes means that are about normal; values with a heavy tail make the interval wide.
/// Differences of parts that sum to a whole sum to the difference of the whole. `None` when a sample
/// has fewer than two values, a value is not finite, or `confidence` is not strictly between 0 and 1.
pub fn welch_mean_difference(
    first: &[f64],
    second: &[f64],
    confidence: f64,
) -> Option<MeanDifference> {
    Shift::welch(first, second)?.interval(confidence)
}

/// Mean of the differences `second` - `first` of pairs, by Student's t on them. `None` as
/// [`welch_mean_difference`], and when the lengths differ.
pub fn paired_mean_difference(
    first: &[f64],
    second: &[f64],
    confidence: f64,
) -> Option<MeanDifference> {
    if first.len() != second.len() {
        return None;
    }
    let differences: Vec<f64> =
        first.iter().zip(second).map(|(first, second)| second - first).collect();
    Shift::paired(&differences)?.interval(confidence)
}

/// A difference of means with what t makes of it.
pub(crate) struct Shift {
    pub(crate) difference: f64,
    pub(crate) standard_error: f64,
    pub(crate) degrees_of_freedom: f64,
    /// The standard deviation, of the sample that spreads more.
    pub(crate) spread: f64,
}

impl Shift {
    /// With v = s² / n of each sample, t = (mean₂ - mean₁) / √(v₁ + v₂) has
    /// (v₁ + v₂)² / (v₁² / (n₁ - 1) + v₂² / (n₂ - 1)) degrees of freedom (Welch, Satterthwaite).
    pub(crate) fn welch(first: &[f64], second: &[f64]) -> Option<Self> {
        let (first, second) = (Self::paired(first)?, Self::paired(second)?);
        let [v1, v2] = [&first, &second].map(|of| of.standard_error * of.standard_error);
        let part = |v: f64, of: &Self| v * v / of.degrees_of_freedom;
        Some(Self {
            difference: second.difference - first.difference,
            standard_error: (v1 + v2).sqrt(),
            degrees_of_freedom: (v1 + v2).powi(2) / (part(v1, &first) + part(v2, &second)),
            spread: first.spread.max(second.spread),
        })
    }

    /// The mean of one sample, such as the differences of pairs.
    pub(crate) fn paired(differences: &[f64]) -> Option<Self> {
        let count = differences.len() as f64;
        let spread = standard_deviation(differences)?;
        Some(Self {
            difference: mean(differences)?,
            standard_error: (spread * spread / count).sqrt(),
            degrees_of_freedom: count - 1.0,
            spread,
        })
    }

    fn interval(&self, confidence: f64) -> Option<MeanDifference> {
        let Self { difference, standard_error, degrees_of_freedom, .. } = *self;
        if !is_confidence(confidence) {
            return None;
        }
        let t = || distributions::t_critical(1.0 - confidence, degrees_of_freedom);
        // Where nothing spreads, what was measured is all there is.
        let reach = if standard_error > 0.0 { t() * standard_error } else { 0.0 };
        let (low, high) = (difference - reach, difference + reach);
        (low.is_finite() && high.is_finite()).then_some(MeanDifference { difference, low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Welch's example as R prints it: `t.test(c(7, 9, 4, 8), c(12, 15, 9, 20, 14))`.
    #[test]
    fn welch_agrees_with_r() {
        let found =
            welch_mean_difference(&[7.0, 9.0, 4.0, 8.0], &[12.0, 15.0, 9.0, 20.0, 14.0], 0.95);
        let found = found.unwrap();
        assert!((found.difference - 7.0).abs() < 1e-12);
        // s² = 14/3 and 16.5, v = 7/6 and 3.3, df = 19.951 / (0.4537 + 2.7225) = 6.2814.
        let t = distributions::t_critical(0.05, 6.281_390_8);
        let reach = t * (7.0_f64 / 6.0 + 3.3).sqrt();
        assert!((found.high - 7.0 - reach).abs() < 1e-5, "{found:?} {reach}");
        assert!((found.low + found.high - 14.0).abs() < 1e-9);
    }

    #[test]
    fn pairs_take_out_what_they_have_in_common() {
        let (first, second) = ([10.0, 20.0, 30.0, 40.0], [11.0, 22.0, 31.0, 42.0]);
        let paired = paired_mean_difference(&first, &second, 0.95).unwrap();
        let apart = welch_mean_difference(&first, &second, 0.95).unwrap();
        assert!(paired.low > 0.0 && apart.low < 0.0, "{paired:?} {apart:?}");
        // Differences 1, 2, 1, 2: s = 1 / √3, t(.05, 3) = 3.18245.
        assert!((paired.high - 1.5 - 3.182_446 / 12.0_f64.sqrt()).abs() < 1e-5, "{paired:?}");
    }

    #[test]
    fn what_does_not_spread_has_an_interval_of_no_width_and_too_few_values_have_none() {
        let found = welch_mean_difference(&[1.0, 1.0], &[3.0, 3.0], 0.95).unwrap();
        assert_eq!((found.low, found.difference, found.high), (2.0, 2.0, 2.0));
        assert_eq!(welch_mean_difference(&[1.0], &[3.0, 3.0], 0.95), None);
        assert_eq!(paired_mean_difference(&[1.0], &[3.0], 0.95), None);
        assert_eq!(paired_mean_difference(&[1.0, 2.0], &[3.0], 0.95), None);
        assert_eq!(welch_mean_difference(&[1.0, f64::NAN], &[3.0, 3.0], 0.95), None);
        assert_eq!(welch_mean_difference(&[1.0, 1.0], &[3.0, 3.0], 1.0), None);
    }
}
