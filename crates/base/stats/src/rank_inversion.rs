//! A rank test turned into an interval: the ratios that it does not reject.
//!
//! Mann and Whitney's U counts the pairwise ratios above 1, Wilcoxon's signed rank sum the Walsh
//! averages above 1 (Tukey 1949). So both tests of "the true ratio is r" compare a count with a
//! null distribution, and the ratios that are not rejected lie between two order statistics
//! (Hollander and Wolfe, *Nonparametric Statistical Methods*, 3.4 and 4.3).

use crate::null_distribution::NullDistribution;
use crate::search::first_float_where;

/// Relative difference of equal ratios.
const ROUNDING: f64 = 1e-12;

/// The ratio of two samples with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioInterval {
    /// Median of all pairwise ratios treated / baseline.
    pub ratio: f64,
    /// Lower end of the interval, included.
    pub low: f64,
    /// Upper end of the interval, included.
    pub high: f64,
    /// Coverage of the interval, 0 to 1: as requested or more, or that of the full range.
    pub confidence_attained: f64,
}

/// A test of every possible true ratio, and the interval that inverts it.
pub(crate) trait Inversion {
    /// One-sided p-value of "the true ratio is at most `ratio`".
    fn p_at_most(&self, ratio: f64) -> f64;

    /// One-sided p-value of "the true ratio is at least `ratio`".
    fn p_at_least(&self, ratio: f64) -> f64;

    /// The estimate with an interval; `None` when a ratio is beyond the floats.
    fn interval(&self, confidence: f64) -> Option<RatioInterval>;

    /// Two-sided p-value of "the ratio is 1".
    fn difference_p(&self) -> f64 {
        (2.0 * self.p_at_most(1.0).min(self.p_at_least(1.0))).min(1.0)
    }

    /// p-value of "the ratio is outside the margin".
    fn equivalence_p(&self, margin: f64) -> f64 {
        self.p_at_most(1.0 / (1.0 + margin)).max(self.p_at_least(1.0 + margin))
    }
}

/// Many positive ratios that can be counted without forming them.
pub(crate) trait OrderedRatios {
    fn len(&self) -> u64;

    fn count_at_most(&self, limit: f64) -> u64;

    /// The `rank`-th smallest ratio, counted from 1; `None` when it is not a finite float above 0.
    fn smallest(&self, rank: u64) -> Option<f64> {
        let enough = |limit: f64| self.count_at_most(limit) >= rank;
        let ratio = enough(f64::MAX).then(|| first_float_where(0.0, f64::MAX, enough))?;
        (ratio > 0.0).then_some(ratio)
    }
}

/// Ratios, and how the number of them above the true one is distributed.
pub(crate) struct RankInversion {
    pub(crate) ratios: Box<dyn OrderedRatios>,
    pub(crate) null: NullDistribution,
    /// The smallest two-sided p-value of the test.
    pub(crate) smallest_p: f64,
}

/// Ratios that equal a tested one support it: ties make the p-value too large, never too small.
impl Inversion for RankInversion {
    fn p_at_most(&self, ratio: f64) -> f64 {
        self.null.at_most(self.ratios.count_at_most(ratio * (1.0 + ROUNDING)))
    }

    fn p_at_least(&self, ratio: f64) -> f64 {
        let below = self.ratios.count_at_most((ratio * (1.0 - ROUNDING)).next_down());
        self.null.at_most(self.ratios.len() - below)
    }

    /// The median with the narrowest interval that reaches `confidence`, else the full range.
    fn interval(&self, confidence: f64) -> Option<RatioInterval> {
        let count = self.ratios.len();
        let rank = self.null.values_within((1.0 - confidence) / 2.0, count);
        let (rank, confidence_attained) = if rank <= 1 {
            (1, 1.0 - self.smallest_p)
        } else {
            (rank, 1.0 - 2.0 * self.null.at_most(rank - 1))
        };
        let below = self.ratios.smallest(count.div_ceil(2))?;
        let above = self.ratios.smallest(count / 2 + 1)?;
        Some(RatioInterval {
            // The geometric mean of the middle two, never outside them.
            ratio: (below.sqrt() * above.sqrt()).clamp(below, above),
            low: self.ratios.smallest(rank)?,
            high: self.ratios.smallest(count + 1 - rank)?,
            confidence_attained,
        })
    }
}
