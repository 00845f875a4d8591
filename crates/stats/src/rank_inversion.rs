//! A rank test turned into an interval: which ratios it would not reject.
//!
//! Mann and Whitney's U counts the pairwise ratios above 1, Wilcoxon's signed rank sum counts the
//! Walsh averages above 1 (Tukey 1949). So both tests of "the true ratio is r" are one comparison
//! of a count with a null distribution, and the ratios that are not rejected lie between two order
//! statistics (Hollander and Wolfe, *Nonparametric Statistical Methods*, 3.4 and 4.3).

use crate::null_distribution::NullDistribution;

/// Largest bit pattern of a finite float.
const LARGEST_FINITE_BITS: u64 = 0x7FEF_FFFF_FFFF_FFFF;

/// Ratios nearer to each other than this share are taken as equal.
const ROUNDING: f64 = 1e-12;

/// Many positive ratios that can be counted without forming them.
pub(crate) trait OrderedRatios {
    /// Number of ratios.
    fn len(&self) -> u64;

    /// Number of ratios at or below `limit`.
    fn count_at_most(&self, limit: f64) -> u64;

    /// The `rank`-th smallest ratio, counted from 1; `None` when it is outside the finite floats
    /// or rounds to 0.
    ///
    /// Positive floats are ordered as their bit patterns are, so the answer is bisected over those:
    /// the smallest float with at least `rank` ratios at or below it, which is itself a ratio.
    /// At most 63 counts; nothing is allocated.
    fn smallest(&self, rank: u64) -> Option<f64> {
        let (mut low, mut high) = (0, LARGEST_FINITE_BITS);
        if self.count_at_most(f64::from_bits(high)) < rank {
            return None;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.count_at_most(f64::from_bits(middle)) >= rank {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(f64::from_bits(low)).filter(|ratio| *ratio > 0.0)
    }
}

/// How many times larger one sample is than another, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioInterval {
    /// Median of all pairwise ratios treated / baseline; 1.0 is "the same".
    pub ratio: f64,
    /// Lower end of the interval, included.
    pub low: f64,
    /// Upper end of the interval, included.
    pub high: f64,
    /// Coverage of the interval, 0 to 1: at least what was asked for, or, when these sample sizes
    /// cannot give that, the coverage of the full range of ratios. Compare it with the request.
    pub confidence_attained: f64,
}

/// Ratios, and how the number of them above the true one is distributed.
pub(crate) struct RankInversion {
    ratios: Box<dyn OrderedRatios>,
    null: NullDistribution,
    smallest_p: f64,
}

impl RankInversion {
    /// `smallest_p` is the smallest two-sided p-value of the test.
    pub(crate) fn new(
        ratios: impl OrderedRatios + 'static,
        null: NullDistribution,
        smallest_p: f64,
    ) -> Self {
        Self { ratios: Box::new(ratios), null, smallest_p }
    }

    /// The median of the ratios, with the interval from the k-th smallest to the k-th largest for
    /// the largest k that gives `confidence`; the full range when none does.
    pub(crate) fn interval(&self, confidence: f64) -> Option<RatioInterval> {
        let count = self.ratios.len();
        let rank = self.null.values_within((1.0 - confidence) / 2.0, count);
        let (rank, confidence_attained) = if rank <= 1 {
            (1, 1.0 - self.smallest_p)
        } else {
            (rank, 1.0 - 2.0 * self.null.at_most(rank - 1))
        };
        let below_middle = self.ratios.smallest(count.div_ceil(2))?;
        let above_middle = self.ratios.smallest(count / 2 + 1)?;
        Some(RatioInterval {
            ratio: middle(below_middle, above_middle),
            low: self.ratios.smallest(rank)?,
            high: self.ratios.smallest(count + 1 - rank)?,
            confidence_attained,
        })
    }

    /// One-sided p-value of "the true ratio is at most `ratio`". Ratios that are equal to it count
    /// as evidence for it: with ties the p-value is too large, never too small.
    pub(crate) fn p_at_most(&self, ratio: f64) -> f64 {
        self.null.at_most(self.ratios.count_at_most(ratio * (1.0 + ROUNDING)))
    }

    /// One-sided p-value of "the true ratio is at least `ratio`", ties as in [`Self::p_at_most`].
    pub(crate) fn p_at_least(&self, ratio: f64) -> f64 {
        let below = self.ratios.count_at_most((ratio * (1.0 - ROUNDING)).next_down());
        self.null.at_most(self.ratios.len() - below)
    }
}

/// Geometric mean of two positive numbers in ascending order, never outside them.
fn middle(low: f64, high: f64) -> f64 {
    (low.sqrt() * high.sqrt()).clamp(low, high)
}
