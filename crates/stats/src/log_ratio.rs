//! Student's and Welch's t on logarithms: the ratio of two geometric means.

use crate::mean_difference::Shift;
use crate::rank_inversion::{Inversion, RatioInterval};
use crate::{distributions, is_confidence};

/// Logarithms that spread less than this differ by rounding only: there is no spread to judge by.
pub(crate) const NO_SPREAD: f64 = 1e-12;

/// A ratio of geometric means with its interval, by t on logarithms.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct LogRatio {
    /// Geometric mean of second / geometric mean of first; 1.0 is "the same".
    pub ratio: f64,
    /// Lower end of the interval; the smallest normal float if it is below that.
    pub low: f64,
    /// Upper end of the interval; the largest float if it is beyond that.
    pub high: f64,
    /// Degrees of freedom of t.
    pub degrees_of_freedom: f64,
    /// Two-sided p-value of "the ratio is 1".
    pub p: f64,
    /// Standard error of the ratio's natural logarithm.
    pub log_standard_error: f64,
}

impl LogRatio {
    fn of(shift: &Shift, confidence: f64) -> Option<Self> {
        let usable = is_confidence(confidence) && shift.spread > NO_SPREAD;
        let Shift { difference, standard_error, degrees_of_freedom, .. } = *shift;
        usable.then(|| Self::new(difference, standard_error, degrees_of_freedom, confidence))?
    }

    /// The ratio whose logarithm is `log`, with this standard error and degrees of freedom.
    pub(crate) fn new(log: f64, log_standard_error: f64, df: f64, confidence: f64) -> Option<Self> {
        let (ratio, p) = (log.exp(), distributions::t_two_sided_p(log / log_standard_error, df));
        let mut found =
            Self { ratio, low: ratio, high: ratio, degrees_of_freedom: df, p, log_standard_error };
        (found.low, found.high) = found.ends(confidence);
        (ratio.is_normal() && ratio > 0.0).then_some(found)
    }

    fn ends(&self, confidence: f64) -> (f64, f64) {
        let reach = distributions::t_critical(1.0 - confidence, self.degrees_of_freedom)
            * self.log_standard_error;
        let end = |log: f64| log.exp().clamp(f64::MIN_POSITIVE, f64::MAX);
        (end(self.ratio.ln() - reach), end(self.ratio.ln() + reach))
    }

    /// One-sided p-value by how far the true logarithm is below this one's.
    fn p_of(&self, distance: f64) -> f64 {
        distributions::t_upper_tail(distance / self.log_standard_error, self.degrees_of_freedom)
    }
}

impl Inversion for LogRatio {
    fn p_at_most(&self, ratio: f64) -> f64 {
        self.p_of(self.ratio.ln() - ratio.ln())
    }

    fn p_at_least(&self, ratio: f64) -> f64 {
        self.p_of(ratio.ln() - self.ratio.ln())
    }

    fn interval(&self, confidence: f64) -> Option<RatioInterval> {
        let (low, high) = self.ends(confidence);
        Some(RatioInterval { ratio: self.ratio, low, high, confidence_attained: confidence })
    }
}

/// Ratio of the geometric means of `second` and `first` by Welch's (1947) t on logarithms: the
/// variances may differ. Any positive unit, the same in both.
///
/// It supposes logarithms that are about normal; a sample with stalls makes it cautious. `None` when
/// a sample has fewer than two values, a value is not positive and finite, the logarithms of neither
/// sample spread by more than rounding (1e-12), the ratio is too large or too small for a float, or
/// `confidence` is not strictly between 0 and 1.
pub fn welch_log_ratio(first: &[f64], second: &[f64], confidence: f64) -> Option<LogRatio> {
    LogRatio::of(&Shift::welch(&logs(first)?, &logs(second)?)?, confidence)
}

/// Geometric mean of the ratios second / first of pairs, by Student's t on their logarithms. Values
/// at the same position are a pair. `None` as [`welch_log_ratio`], and when the lengths differ.
pub fn paired_log_ratio(first: &[f64], second: &[f64], confidence: f64) -> Option<LogRatio> {
    if first.len() != second.len() || !first.iter().all(|value| *value > 0.0) {
        return None;
    }
    let ratios: Vec<f64> = first.iter().zip(second).map(|(first, second)| second / first).collect();
    LogRatio::of(&Shift::paired(&logs(&ratios)?)?, confidence)
}

/// The natural logarithms of values that have one.
fn logs(values: &[f64]) -> Option<Vec<f64>> {
    let log = |value: &f64| (value.is_finite() && *value > 0.0).then(|| value.ln());
    values.iter().map(log).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunts_first_experiment_is_a_regression_by_welch() {
        let older = [128.0, 137.0, 131.0, 137.0];
        let newer = [212.0, 191.0, 194.0];
        let found = welch_log_ratio(&older, &newer, 0.95).unwrap();
        assert!((found.ratio - 1.4925).abs() < 5e-5, "{found:?}");
        assert!((found.low - 1.3306).abs() < 5e-5 && (found.high - 1.6741).abs() < 5e-5);
        assert!((found.degrees_of_freedom - 3.08).abs() < 5e-3, "{found:?}");
        assert!((found.p - 0.00145).abs() < 5e-6, "{found:?}");
    }

    #[test]
    fn one_sided_p_values_are_halves_of_the_two_sided() {
        let found = paired_log_ratio(&[1.0, 2.0, 3.0], &[1.1, 2.5, 3.2], 0.95).unwrap();
        assert!((found.p_at_most(1.0) - found.p / 2.0).abs() < 1e-15);
        assert!((found.p_at_least(1.0) - (1.0 - found.p / 2.0)).abs() < 1e-15);
        assert!((found.p_at_most(found.low) - 0.025).abs() < 1e-10);
        assert!((found.p_at_least(found.high) - 0.025).abs() < 1e-10);
    }

    #[test]
    fn what_has_no_spread_or_no_logarithm_is_none() {
        let good = [1.0, 2.0];
        let scaled: Vec<f64> = [1.0, 3.7, 91.3].iter().map(|value| value * 1.2).collect();
        assert_eq!(paired_log_ratio(&[1.0, 3.7, 91.3], &scaled, 0.95), None);
        assert_eq!(welch_log_ratio(&[2.0, 2.0], &[3.0, 3.0], 0.95), None);
        assert_eq!(paired_log_ratio(&good, &[1.0, 2.0, 3.0], 0.95), None);
        assert_eq!(paired_log_ratio(&[-1.0, -2.0], &[-1.0, -3.0], 0.95), None);
        for bad in [&[][..], &[1.0], &[0.0, 1.0], &[f64::NAN, 1.0], &[f64::INFINITY, 1.0]] {
            assert_eq!(welch_log_ratio(&good, bad, 0.95), None);
            assert_eq!(paired_log_ratio(bad, bad, 0.95), None);
        }
        for confidence in [0.0, 1.0, f64::NAN] {
            assert_eq!(welch_log_ratio(&good, &[1.0, 3.0], confidence), None);
        }
    }
}
