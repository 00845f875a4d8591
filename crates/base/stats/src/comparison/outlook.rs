//! What a cell could have detected, and how many values a verdict needs.

use super::{Arms, NotDecided, Settings};
use crate::multiple::reaches;
use crate::null_distribution::{minimum_signed_rank_p, minimum_two_sided_p};
use crate::power::{
    Goal, SampleSizes, minimum_detectable_ratio, more_values_for_interval, more_values_to_decide,
};
use crate::{Pairing, RatioInterval, distributions};

/// Chance that a detectable ratio is detected.
const POWER: f64 = 0.8;
/// Values that ranks need per value of t, for normal logarithms (Hodges and Lehmann 1956).
const RANKS_FOR_T: f64 = std::f64::consts::FRAC_PI_3;
/// An interval that includes 1 is useless if its ends differ by more than this factor.
const SAYS_NOTHING_FROM: f64 = 100.0;
/// The ends of a usable interval differ by at most this factor.
const USABLE_FACTOR: f64 = 2.0;

/// Whether an interval is useless: it includes 1, and its ends differ by more than 100 times.
pub fn says_nothing(low: f64, high: f64) -> bool {
    let factor = high / low;
    low <= 1.0 && high >= 1.0 && (factor > SAYS_NOTHING_FROM || factor.is_nan())
}

pub(super) fn smallest_p(pairing: Pairing, first: usize, second: usize) -> f64 {
    match pairing {
        Pairing::Unpaired => minimum_two_sided_p(first, second),
        Pairing::Paired => minimum_signed_rank_p(first.min(second)),
    }
}

/// The fewest values a side with which the rank test can reach `level`.
pub(super) fn rank_needs(pairing: Pairing, level: f64) -> u64 {
    let enough = |values: &usize| reaches(smallest_p(pairing, *values, *values), level);
    (1..).find(enough).unwrap_or(usize::MAX) as u64
}

/// The sizes of a cell, its spread by its method, and the level of the family.
pub(super) struct Outlook {
    sizes: SampleSizes,
    spread: Option<f64>,
    ratio: f64,
    goal: Goal,
    rank_lacks: u64,
}

impl Outlook {
    /// `t_error` is the standard error of t, `Some(None)` if ranks decided, `None` if the spread
    /// is unknown. The spread of ranks is that with which t would have yielded their interval.
    pub(super) fn new(
        arms: &Arms,
        settings: &Settings,
        level: f64,
        plain: &RatioInterval,
        t_error: Option<Option<f64>>,
    ) -> Self {
        let (first, second) = (arms.first.len() as u64, arms.second.len() as u64);
        let sizes = match arms.pairing {
            Pairing::Unpaired => SampleSizes::Unpaired(first, second),
            Pairing::Paired => SampleSizes::Paired(first),
        };
        let df = sizes.degrees_of_freedom();
        let log_standard_error = match t_error {
            Some(Some(error)) => Some(error * RANKS_FOR_T.sqrt()),
            Some(None) if df >= 1.0 && plain.confidence_attained > 0.0 => {
                let half_width = (plain.high.ln() - plain.low.ln()) / 2.0;
                Some(half_width / distributions::t_critical(1.0 - plain.confidence_attained, df))
            }
            _ => None,
        };
        Self {
            sizes,
            spread: log_standard_error
                .map(|error| error / sizes.standard_error())
                .filter(|spread| spread.is_finite()),
            ratio: plain.ratio,
            goal: Goal { margin: settings.margin, alpha: level, power: POWER },
            rank_lacks: rank_needs(arms.pairing, level).saturating_sub(first.min(second)),
        }
    }

    /// The smallest ratio above 1 that is called a regression with this power.
    pub(super) fn minimum_detectable(&self) -> Option<f64> {
        minimum_detectable_ratio(self.spread?, self.sizes, self.goal)
    }

    /// Further values per side for a verdict; at least one, as these did not decide.
    pub(super) fn more_blocks(&self, why: NotDecided) -> Option<u64> {
        if why == NotDecided::TooFewValues {
            return Some(self.rank_lacks.max(1));
        }
        let more = more_values_to_decide(self.ratio, self.spread?, self.sizes, self.goal);
        more.map(|more| more.max(1))
    }

    /// Values per side for a usable interval, if the one from `low` to `high` says nothing.
    pub(super) fn interval_needs(&self, low: f64, high: f64) -> Option<u64> {
        let spread = self.spread.filter(|_| says_nothing(low, high))?;
        let have = match self.sizes {
            SampleSizes::Unpaired(first, second) => first.min(second),
            SampleSizes::Paired(pairs) => pairs,
        };
        let alpha = self.goal.alpha;
        let more = more_values_for_interval(USABLE_FACTOR, spread, self.sizes, alpha)?;
        Some(have + more)
    }
}
