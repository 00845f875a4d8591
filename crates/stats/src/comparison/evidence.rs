//! What one method says about every ratio that might be the true one.

use crate::RatioInterval;
use crate::log_ratio::LogRatio;
use crate::rank_inversion::RankInversion;

/// A method's answer: its tests and its intervals are each other's inversion.
pub(super) enum Evidence {
    Ranks(RankInversion),
    T(LogRatio),
}

impl Evidence {
    /// The estimate with an interval; `None` when a ratio is beyond the floats.
    pub(super) fn interval(&self, confidence: f64) -> Option<RatioInterval> {
        match self {
            Self::Ranks(ranks) => ranks.interval(confidence),
            Self::T(t) => {
                let (low, high) = t.interval(confidence);
                Some(RatioInterval { ratio: t.ratio, low, high, confidence_attained: confidence })
            }
        }
    }

    /// One-sided p-value of "the true ratio is at most `ratio`".
    pub(super) fn p_at_most(&self, ratio: f64) -> f64 {
        match self {
            Self::Ranks(ranks) => ranks.p_at_most(ratio),
            Self::T(t) => t.p_at_most(ratio),
        }
    }

    /// One-sided p-value of "the true ratio is at least `ratio`".
    pub(super) fn p_at_least(&self, ratio: f64) -> f64 {
        match self {
            Self::Ranks(ranks) => ranks.p_at_least(ratio),
            Self::T(t) => t.p_at_least(ratio),
        }
    }
}
