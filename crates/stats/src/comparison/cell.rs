//! One cell of a family: checked, weighed by its method, and judged once the others are known.

use super::evidence::Evidence;
use super::outlook::{self, Outlook};
use super::{Arms, CellError, CellResult, Method, NotDecided, Pairing, Settings, Verdict};
use crate::RatioInterval;
use crate::hodges_lehmann::pairwise_inversion;
use crate::log_ratio::{LogRatio, paired_log_ratio, welch_log_ratio};
use crate::multiple::ExclusiveFamily;
use crate::permutation::{permutation_p, sign_flip_p};
use crate::signed_rank::walsh_inversion;

/// Most values a side for which the permutation test is given.
const FEW_VALUES: usize = 4;

/// Whether a p-value is at most this level; an excess of rounding size is forgiven.
pub(super) fn reaches(p: f64, level: f64) -> bool {
    p <= level * (1.0 + 1e-12)
}

/// Whether these samples can be compared at all.
pub(super) fn check(arms: &Arms, settings: &Settings) -> Result<(), CellError> {
    let Settings { margin, alpha } = *settings;
    if !(margin >= 0.0 && margin.is_finite() && alpha > 0.0 && alpha < 0.5) {
        return Err(CellError::Settings(*settings));
    }
    let Arms { first, second, pairing } = arms;
    if first.is_empty() || second.is_empty() {
        return Err(CellError::Empty);
    }
    let bad = |value: &&f64| !(value.is_finite() && **value > 0.0);
    if let Some(value) = first.iter().chain(second).find(bad) {
        return Err(CellError::NotPositive(*value));
    }
    if *pairing == Pairing::Paired && first.len() != second.len() {
        return Err(CellError::UnequalLengths { first: first.len(), second: second.len() });
    }
    let range = |values: &[f64]| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        (low, values.iter().copied().fold(0.0, f64::max))
    };
    let ((low, high), (other_low, other_high)) = (range(first), range(second));
    let representable = (other_high / low).is_normal() && (other_low / high).is_normal();
    if representable { Ok(()) } else { Err(CellError::RatioOutOfRange) }
}

/// A cell with what its method says, before the other cells are known.
pub(super) struct Weighed<'a> {
    arms: &'a Arms,
    method: Method,
    evidence: Evidence,
    plain: RatioInterval,
    log_ratio: Option<LogRatio>,
    smallest_p: f64,
    rank_can_fire: bool,
    difference_p: f64,
    equivalence_p: f64,
}

/// Chooses the method of a checked cell, for the strictest `level` of the family, and applies it.
pub(super) fn weigh<'a>(
    arms: &'a Arms,
    settings: &Settings,
    level: f64,
) -> Result<Weighed<'a>, CellError> {
    let Arms { first, second, pairing } = arms;
    let smallest_p = outlook::smallest_p(*pairing, first.len(), second.len());
    let rank_can_fire = reaches(smallest_p, level);
    let confidence = 1.0 - settings.alpha;
    let log_ratio = match pairing {
        Pairing::Unpaired => welch_log_ratio(first, second, confidence),
        Pairing::Paired => paired_log_ratio(first, second, confidence),
    };
    let ranks = || match pairing {
        Pairing::Unpaired => pairwise_inversion(first, second),
        Pairing::Paired => walsh_inversion(first, second),
    };
    let (by_ranks, by_t) = match pairing {
        Pairing::Unpaired => (Method::HodgesLehmann, Method::WelchLog),
        Pairing::Paired => (Method::SignedRank, Method::PairedLog),
    };
    let (method, evidence) = match log_ratio {
        Some(log_ratio) if !rank_can_fire => (by_t, Evidence::T(log_ratio)),
        _ => (by_ranks, Evidence::Ranks(ranks().ok_or(CellError::RatioOutOfRange)?)),
    };
    let plain = evidence.interval(confidence).ok_or(CellError::RatioOutOfRange)?;
    let one_value = first.iter().chain(second).all(|value| *value == first[0]);
    let constant = one_value && first.len() > 1 && second.len() > 1;
    let difference_p = evidence.difference_p();
    let equivalence_p = if constant { 0.0 } else { evidence.equivalence_p(settings.margin) };
    Ok(Weighed {
        arms,
        method,
        evidence,
        plain,
        log_ratio,
        smallest_p,
        rank_can_fire,
        difference_p,
        equivalence_p,
    })
}

impl Weighed<'_> {
    /// p-values of "no difference" and "not equivalent".
    pub(super) fn p_values(&self) -> (f64, f64) {
        (self.difference_p, self.equivalence_p)
    }

    /// The result, given the p-values of all cells.
    pub(super) fn judge(
        &self,
        settings: &Settings,
        level: f64,
        family: &ExclusiveFamily,
    ) -> Result<CellResult, CellError> {
        let Arms { first, second, pairing } = self.arms;
        let difference = family.adjusted(self.difference_p);
        let equivalence = family.adjusted(self.equivalence_p);
        let verdict = self.verdict(settings, difference.p, equivalence.p);
        let why =
            (verdict == Verdict::CannotTell).then(|| self.not_decided(settings, difference.p));
        let tail = match verdict {
            Verdict::Equivalent => 2.0 * settings.alpha / equivalence.divisor,
            _ => settings.alpha / difference.divisor,
        };
        let adjusted = self.evidence.interval(1.0 - tail).ok_or(CellError::RatioOutOfRange)?;
        let outlook = Outlook::new(self.arms, level, &self.evidence, &self.plain);
        Ok(CellResult {
            verdict,
            why,
            method: self.method,
            ratio: self.plain.ratio,
            low: self.plain.low,
            high: self.plain.high,
            confidence_attained: self.plain.confidence_attained,
            adjusted_low: adjusted.low,
            adjusted_high: adjusted.high,
            p: self.difference_p,
            p_adjusted: difference.p,
            equivalence_p_adjusted: equivalence.p,
            smallest_p: self.smallest_p,
            rank_can_fire: self.rank_can_fire,
            rank_needs: outlook::rank_needs(*pairing, level),
            log_ratio: self.log_ratio,
            permutation_p: self.permutation_p(),
            minimum_detectable: outlook.minimum_detectable(),
            more_blocks: why.and_then(|why| outlook.more_blocks(why, settings.margin)),
            n_first: first.len(),
            n_second: second.len(),
        })
    }

    fn verdict(&self, settings: &Settings, difference_p: f64, equivalence_p: f64) -> Verdict {
        let different = reaches(difference_p, settings.alpha);
        if reaches(equivalence_p, settings.alpha) {
            Verdict::Equivalent
        } else if different && self.plain.ratio > 1.0 + settings.margin {
            Verdict::Regression
        } else if different && self.plain.ratio < 1.0 / (1.0 + settings.margin) {
            Verdict::Improvement
        } else {
            Verdict::CannotTell
        }
    }

    fn not_decided(&self, settings: &Settings, adjusted_p: f64) -> NotDecided {
        let alone = self.verdict(settings, self.difference_p, self.equivalence_p);
        if !self.rank_can_fire && self.log_ratio.is_none() {
            NotDecided::TooFewValues
        } else if alone != Verdict::CannotTell {
            NotDecided::NotAmongSoMany
        } else if reaches(adjusted_p, settings.alpha) {
            NotDecided::MarginInsideInterval
        } else {
            NotDecided::IntervalIncludesOne
        }
    }

    fn permutation_p(&self) -> Option<f64> {
        let Arms { first, second, pairing } = self.arms;
        if first.len().max(second.len()) > FEW_VALUES {
            return None;
        }
        match pairing {
            Pairing::Unpaired => permutation_p(first, second),
            Pairing::Paired => {
                let differences: Vec<f64> =
                    first.iter().zip(second).map(|(first, second)| second - first).collect();
                sign_flip_p(&differences)
            }
        }
    }
}
