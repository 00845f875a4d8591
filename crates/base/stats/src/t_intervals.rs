//! Student's and Welch's t: the difference of two means, and the ratio of two geometric means.

use crate::describe::{mean, standard_deviation};
use crate::rank_inversion::{Inversion, RatioInterval};
use crate::{Pairing, alpha, distributions, logs, pairs};

/// Interval of mean of `second` - mean of `first` by Welch's (1947) t, which allows different
/// variances, or Student's t on the differences of pairs.
///
/// Assumes about normal means; heavy tails make the interval wide. Differences of parts add up to
/// that of the whole. `None` when a sample has fewer than two values, a value is not finite,
/// `confidence` is not strictly between 0 and 1, or pairs are incomplete.
pub fn mean_difference(
    first: &[f64],
    second: &[f64],
    pairing: Pairing,
    confidence: f64,
) -> Option<(f64, f64)> {
    let shift = match pairing {
        Pairing::Unpaired => Shift::welch(first, second),
        Pairing::Paired => Shift::paired(&pairs(first, second, |first, second| second - first)?),
    };
    shift?.interval(confidence)
}

/// Student's interval of the mean of values, which it assumes to be about normal. `None` for fewer than two, or
/// one that is not finite.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    Shift::paired(values)?.interval(confidence)
}

pub(crate) struct Shift {
    pub(crate) difference: f64,
    pub(crate) standard_error: f64,
    pub(crate) degrees_of_freedom: f64,
    /// Standard deviation; of two samples the larger one.
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

    fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let alpha = alpha(confidence)?;
        let t = || distributions::t_critical(alpha, self.degrees_of_freedom);
        // Without spread the estimate is exact.
        let half_width = if self.standard_error > 0.0 { t() * self.standard_error } else { 0.0 };
        let (low, high) = (self.difference - half_width, self.difference + half_width);
        (low.is_finite() && high.is_finite()).then_some((low, high))
    }
}

/// Logarithms with less spread than this differ by rounding only.
pub(crate) const NO_SPREAD: f64 = 1e-12;

/// A ratio of geometric means with its interval, by t on logarithms.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct LogRatio {
    /// Geometric mean of second / geometric mean of first.
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
    /// The ratio with this logarithm, standard error and degrees of freedom.
    pub(crate) fn new(log: f64, log_standard_error: f64, df: f64, confidence: f64) -> Option<Self> {
        let (ratio, p) = (log.exp(), distributions::t_two_sided_p(log / log_standard_error, df));
        let mut found =
            Self { ratio, low: ratio, high: ratio, degrees_of_freedom: df, p, log_standard_error };
        (found.low, found.high) = found.ends(confidence);
        (ratio.is_normal() && ratio > 0.0).then_some(found)
    }

    /// Raises the standard error of the ratio's logarithm to at least this one; the ratio stays.
    pub(crate) fn at_least(self, log_standard_error: f64, confidence: f64) -> Option<Self> {
        match log_standard_error > self.log_standard_error {
            true => {
                let df = self.degrees_of_freedom;
                Self::new(self.ratio.ln(), log_standard_error, df, confidence)
            }
            false => Some(self),
        }
    }

    fn ends(&self, confidence: f64) -> (f64, f64) {
        let half_width = distributions::t_critical(1.0 - confidence, self.degrees_of_freedom)
            * self.log_standard_error;
        let end = |log: f64| log.exp().clamp(f64::MIN_POSITIVE, f64::MAX);
        (end(self.ratio.ln() - half_width), end(self.ratio.ln() + half_width))
    }

    /// One-sided p-value of a true logarithm this far below the estimate.
    fn p_below(&self, distance: f64) -> f64 {
        distributions::t_upper_tail(distance / self.log_standard_error, self.degrees_of_freedom)
    }
}

impl Inversion for LogRatio {
    fn p_at_most(&self, ratio: f64) -> f64 {
        self.p_below(self.ratio.ln() - ratio.ln())
    }

    fn p_at_least(&self, ratio: f64) -> f64 {
        self.p_below(ratio.ln() - self.ratio.ln())
    }

    fn interval(&self, confidence: f64) -> Option<RatioInterval> {
        let (low, high) = self.ends(confidence);
        Some(RatioInterval { ratio: self.ratio, low, high, confidence_attained: confidence })
    }
}

/// Geometric mean of `second` / that of `first`: by Welch's (1947) t on logarithms, which allows
/// different variances, or by Student's t on the logarithms of pairs' ratios.
///
/// Assumes about normal logarithms; stalls make it cautious. `None` as in [`mean_difference`],
/// when a value is not positive, no logarithms spread by more than rounding (1e-12), or the ratio
/// is not a normal float.
pub fn log_ratio(
    first: &[f64],
    second: &[f64],
    pairing: Pairing,
    confidence: f64,
) -> Option<LogRatio> {
    let logs_of_first = logs(first)?;
    let shift = match pairing {
        Pairing::Unpaired => Shift::welch(&logs_of_first, &logs(second)?),
        Pairing::Paired => {
            Shift::paired(&logs(&pairs(first, second, |first, second| second / first)?)?)
        }
    };
    let Shift { difference, standard_error, degrees_of_freedom, spread } = shift?;
    alpha(confidence).filter(|_| spread > NO_SPREAD)?;
    LogRatio::new(difference, standard_error, degrees_of_freedom, confidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Welch's example as R prints it: `t.test(c(7, 9, 4, 8), c(12, 15, 9, 20, 14))`.
    #[test]
    fn welch_agrees_with_r() {
        let found = mean_difference(
            &[7.0, 9.0, 4.0, 8.0],
            &[12.0, 15.0, 9.0, 20.0, 14.0],
            Pairing::Unpaired,
            0.95,
        );
        let found = found.unwrap();
        // s² = 14/3 and 16.5, v = 7/6 and 3.3, df = 19.951 / (0.4537 + 2.7225) = 6.2814.
        let t = distributions::t_critical(0.05, 6.281_390_8);
        let reach = t * (7.0_f64 / 6.0 + 3.3).sqrt();
        assert!((found.1 - 7.0 - reach).abs() < 1e-5, "{found:?} {reach}");
        assert!((found.0 + found.1 - 14.0).abs() < 1e-9);
    }

    #[test]
    fn pairs_take_out_what_they_have_in_common() {
        let (first, second) = ([10.0, 20.0, 30.0, 40.0], [11.0, 22.0, 31.0, 42.0]);
        let paired = mean_difference(&first, &second, Pairing::Paired, 0.95).unwrap();
        let apart = mean_difference(&first, &second, Pairing::Unpaired, 0.95).unwrap();
        assert!(paired.0 > 0.0 && apart.0 < 0.0, "{paired:?} {apart:?}");
        // Differences 1, 2, 1, 2: s = 1 / √3, t(0.05, 3) = 3.18245.
        assert!((paired.1 - 1.5 - 3.182_446 / 12.0_f64.sqrt()).abs() < 1e-5, "{paired:?}");
    }

    #[test]
    fn what_does_not_spread_has_an_interval_of_no_width_and_too_few_values_have_none() {
        let found = mean_difference(&[1.0, 1.0], &[3.0, 3.0], Pairing::Unpaired, 0.95).unwrap();
        assert_eq!(found, (2.0, 2.0));
        assert_eq!(mean_difference(&[1.0], &[3.0, 3.0], Pairing::Unpaired, 0.95), None);
        assert_eq!(mean_difference(&[1.0], &[3.0], Pairing::Paired, 0.95), None);
        assert_eq!(mean_difference(&[1.0, 2.0], &[3.0], Pairing::Paired, 0.95), None);
        assert_eq!(mean_difference(&[1.0, f64::NAN], &[3.0, 3.0], Pairing::Unpaired, 0.95), None);
        assert_eq!(mean_difference(&[1.0, 1.0], &[3.0, 3.0], Pairing::Unpaired, 1.0), None);
    }

    #[test]
    fn hunts_first_experiment_is_a_regression_by_welch() {
        let older = [128.0, 137.0, 131.0, 137.0];
        let newer = [212.0, 191.0, 194.0];
        let found = log_ratio(&older, &newer, Pairing::Unpaired, 0.95).unwrap();
        assert!((found.ratio - 1.4925).abs() < 5e-5, "{found:?}");
        assert!((found.low - 1.3306).abs() < 5e-5 && (found.high - 1.6741).abs() < 5e-5);
        assert!((found.degrees_of_freedom - 3.08).abs() < 5e-3, "{found:?}");
        assert!((found.p - 0.00145).abs() < 5e-6, "{found:?}");
    }

    #[test]
    fn one_sided_p_values_are_halves_of_the_two_sided() {
        let found = log_ratio(&[1.0, 2.0, 3.0], &[1.1, 2.5, 3.2], Pairing::Paired, 0.95).unwrap();
        assert!((found.p_at_most(1.0) - found.p / 2.0).abs() < 1e-15);
        assert!((found.p_at_least(1.0) - (1.0 - found.p / 2.0)).abs() < 1e-15);
        assert!((found.p_at_most(found.low) - 0.025).abs() < 1e-10);
        assert!((found.p_at_least(found.high) - 0.025).abs() < 1e-10);
    }

    #[test]
    fn what_has_no_spread_or_no_logarithm_is_none() {
        let good = [1.0, 2.0];
        let scaled: Vec<f64> = [1.0, 3.7, 91.3].iter().map(|value| value * 1.2).collect();
        assert_eq!(log_ratio(&[1.0, 3.7, 91.3], &scaled, Pairing::Paired, 0.95), None);
        assert_eq!(log_ratio(&[2.0, 2.0], &[3.0, 3.0], Pairing::Unpaired, 0.95), None);
        assert_eq!(log_ratio(&good, &[1.0, 2.0, 3.0], Pairing::Paired, 0.95), None);
        assert_eq!(log_ratio(&[-1.0, -2.0], &[-1.0, -3.0], Pairing::Paired, 0.95), None);
        for bad in [&[][..], &[1.0], &[0.0, 1.0], &[f64::NAN, 1.0], &[f64::INFINITY, 1.0]] {
            assert_eq!(log_ratio(&good, bad, Pairing::Unpaired, 0.95), None);
            assert_eq!(log_ratio(bad, bad, Pairing::Paired, 0.95), None);
        }
        for confidence in [0.0, 1.0, f64::NAN] {
            assert_eq!(log_ratio(&good, &[1.0, 3.0], Pairing::Unpaired, confidence), None);
        }
    }
}
