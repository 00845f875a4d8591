//! What a cell could have seen, and what it would take to tell.

use super::cell::reaches;
use super::evidence::Evidence;
use super::{Arms, NotDecided, Pairing};
use crate::power::{
    Goal, SampleSizes, minimum_detectable_ratio, more_values_for_equivalence, more_values_to_detect,
};
use crate::{RatioInterval, minimum_signed_rank_p, minimum_two_sided_p, student};

/// Chance that a detectable ratio is to be detected.
const POWER: f64 = 0.8;

/// The smallest two-sided p-value of the rank test with so many values.
pub(super) fn smallest_p(pairing: Pairing, first: usize, second: usize) -> f64 {
    match pairing {
        Pairing::Unpaired => minimum_two_sided_p(first, second),
        Pairing::Paired => minimum_signed_rank_p(first.min(second)),
    }
}

/// The fewest values a side with which the rank test can reach `level`.
pub(super) fn rank_needs(pairing: Pairing, level: f64) -> u64 {
    let mut values = 1;
    while !reaches(smallest_p(pairing, values, values), level) {
        values += 1;
    }
    values as u64
}

/// The sizes of a cell, the spread that its method sees, and the level of the family.
pub(super) struct Outlook {
    sizes: SampleSizes,
    spread: Option<f64>,
    ratio: f64,
    goal: Goal,
    rank_lacks: u64,
}

impl Outlook {
    /// For t the spread is that of the standard error. For ranks it is the spread with which t
    /// would have given the rank method's own interval: the standard deviation itself would be
    /// that of the stalls, which ranks do not mind.
    pub(super) fn new(arms: &Arms, level: f64, evidence: &Evidence, plain: &RatioInterval) -> Self {
        let (first, second) = (arms.first.len() as u64, arms.second.len() as u64);
        let sizes = match arms.pairing {
            Pairing::Unpaired => SampleSizes::Unpaired(first, second),
            Pairing::Paired => SampleSizes::Paired(first),
        };
        let df = sizes.degrees_of_freedom();
        let log_standard_error = match evidence {
            Evidence::T(t) => Some(t.log_standard_error),
            Evidence::Ranks(_) if df >= 1.0 && plain.confidence_attained > 0.0 => {
                let reach = (plain.high.ln() - plain.low.ln()) / 2.0;
                Some(reach / student::critical(1.0 - plain.confidence_attained, df))
            }
            Evidence::Ranks(_) => None,
        };
        Self {
            sizes,
            spread: log_standard_error.map(|error| error / sizes.standard_error()),
            ratio: plain.ratio,
            goal: Goal { alpha: level, power: POWER },
            rank_lacks: rank_needs(arms.pairing, level).saturating_sub(first.min(second)),
        }
    }

    /// The smallest ratio above 1 that is detected with the usual power.
    pub(super) fn minimum_detectable(&self) -> Option<f64> {
        minimum_detectable_ratio(self.spread?, self.sizes, self.goal)
    }

    /// How many more values a side it would take, if the ratio and the spread are what they seem:
    /// to detect a ratio beyond the margin, or to show that one within it is equivalent. At least
    /// one, for these did not tell.
    pub(super) fn more_blocks(&self, why: NotDecided, margin: f64) -> Option<u64> {
        if why == NotDecided::TooFewValues {
            return Some(self.rank_lacks.max(1));
        }
        let (spread, sizes, goal) = (self.spread?, self.sizes, self.goal);
        let more = if self.ratio.max(1.0 / self.ratio) > 1.0 + margin {
            more_values_to_detect(self.ratio, spread, sizes, goal)
        } else {
            more_values_for_equivalence(self.ratio, margin, spread, sizes, goal)
        };
        more.map(|more| more.max(1))
    }
}
