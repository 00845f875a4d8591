//! One cell of a family: checked, weighed by its method, and judged once the others are known.

use model::Observation;

use super::evidence::Evidence;
use super::outlook::{self, Outlook};
use super::{
    AllowedRatio, Arms, CellError, CellResult, Method, NotDecided, Pairing, Settings, Verdict,
};
use crate::RatioInterval;
use crate::beyond::{BEYOND, beyond, has_bounds, joined, limited, raised};
use crate::hodges_lehmann::pairwise_inversion;
use crate::log_ratio::{LogRatio, paired_log_ratio, welch_log_ratio};
use crate::multiple::{ExclusiveFamily, reaches};
use crate::permutation::{permutation_p, sign_flip_p};
use crate::signed_rank::walsh_inversion;

/// Most values a side for which the permutation test is given.
const FEW_VALUES: usize = 4;

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
    let bad = |value: &f64| !(value.is_finite() && *value > 0.0);
    let all = first.iter().chain(second).map(|observed| observed.value);
    if let Some(value) = all.clone().find(bad) {
        return Err(CellError::NotPositive(value));
    }
    if *pairing == Pairing::Paired && first.len() != second.len() {
        return Err(CellError::UnequalLengths { first: first.len(), second: second.len() });
    }
    let range = |values: &[Observation]| {
        let values = values.iter().map(|observed| observed.value);
        let low = values.clone().fold(f64::INFINITY, f64::min);
        (low, values.fold(0.0, f64::max))
    };
    let ((low, high), (other_low, other_high)) = (range(first), range(second));
    // Bounds are raised beyond everything.
    let raise = if has_bounds(first) || has_bounds(second) { BEYOND } else { 1.0 };
    let representable = (raise * other_high / low).is_normal()
        && (other_low / high / raise).is_normal()
        && (raise * high / other_low).is_normal();
    if representable { Ok(()) } else { Err(CellError::RatioOutOfRange) }
}

/// The values of both arms with all bounds of one taken as values and all of the other beyond
/// everything.
struct Extreme {
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Extreme {
    /// The smallest ratio that the observations allow, or the largest.
    fn new(arms: &Arms, is_largest: bool) -> Self {
        let beyond = beyond(arms.first.iter().chain(&arms.second));
        Self {
            first: raised(&arms.first, (!is_largest).then_some(beyond)),
            second: raised(&arms.second, is_largest.then_some(beyond)),
        }
    }

    fn log_ratio(&self, pairing: Pairing, confidence: f64) -> Option<LogRatio> {
        match pairing {
            Pairing::Unpaired => welch_log_ratio(&self.first, &self.second, confidence),
            Pairing::Paired => paired_log_ratio(&self.first, &self.second, confidence),
        }
    }

    fn ranks(&self, pairing: Pairing) -> Result<Evidence, CellError> {
        let found = match pairing {
            Pairing::Unpaired => pairwise_inversion(&self.first, &self.second),
            Pairing::Paired => walsh_inversion(&self.first, &self.second),
        };
        found.map(Evidence::Ranks).ok_or(CellError::RatioOutOfRange)
    }
}

/// A cell with what its method says, before the other cells are known.
pub(super) struct Weighed<'a> {
    arms: &'a Arms,
    method: Method,
    /// By the smallest ratio that the observations allow.
    lowest: End,
    /// By the largest, if that is another one.
    highest: Option<End>,
    plain: RatioInterval,
    allowed: Option<AllowedRatio>,
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
    let is_bounded = has_bounds(first) || has_bounds(second);
    let small = Extreme::new(arms, false);
    let large = is_bounded.then(|| Extreme::new(arms, true));
    let log_ratio = small.log_ratio(*pairing, confidence);
    let large_log_ratio = large.as_ref().and_then(|large| large.log_ratio(*pairing, confidence));
    // t decides only where it has a spread at both extremes.
    let by_t = log_ratio.filter(|_| !rank_can_fire && (!is_bounded || large_log_ratio.is_some()));
    let (ranks, t) = match pairing {
        Pairing::Unpaired => (Method::HodgesLehmann, Method::WelchLog),
        Pairing::Paired => (Method::SignedRank, Method::PairedLog),
    };
    let (method, lowest) = match by_t {
        Some(log_ratio) => (t, Evidence::T(log_ratio)),
        None => (ranks, small.ranks(*pairing)?),
    };
    let highest = match (large, by_t) {
        (None, _) => None,
        (Some(_), Some(_)) => large_log_ratio.map(Evidence::T),
        (Some(large), None) => Some(large.ranks(*pairing)?),
    };
    let lowest = End { evidence: lowest, beyond: has_bounds(first).then_some(0.0) };
    let beyond = has_bounds(second).then_some(f64::INFINITY);
    let highest = highest.map(|evidence| End { evidence, beyond });
    let (plain, allowed) = bracket(&lowest, highest.as_ref(), confidence)?;
    let one_value = first.iter().chain(second).all(|observed| *observed == first[0]);
    let constant = !is_bounded && one_value && first.len() > 1 && second.len() > 1;
    let [at_most_one, at_least_one] =
        [lowest.evidence.p_at_most(1.0), top(&lowest, &highest).p_at_least(1.0)];
    let difference_p = (2.0 * at_most_one.min(at_least_one)).min(1.0);
    let equivalence_p = if constant {
        0.0
    } else {
        let margin = 1.0 + settings.margin;
        lowest.evidence.p_at_most(1.0 / margin).max(top(&lowest, &highest).p_at_least(margin))
    };
    Ok(Weighed {
        arms,
        method,
        lowest,
        highest,
        plain,
        allowed,
        log_ratio: log_ratio.filter(|_| !is_bounded),
        smallest_p,
        rank_can_fire,
        difference_p,
        equivalence_p,
    })
}

/// The evidence by the largest ratio that the observations allow.
fn top<'a>(lowest: &'a End, highest: &'a Option<End>) -> &'a Evidence {
    &highest.as_ref().unwrap_or(lowest).evidence
}

/// The evidence by the smallest ratio that the observations allow, or by the largest.
struct End {
    evidence: Evidence,
    /// What a ratio is that has no limit: 0 or infinite. `None` if no value was raised for it.
    beyond: Option<f64>,
}

impl End {
    /// The estimate with an interval.
    fn interval(&self, confidence: f64) -> Result<RatioInterval, CellError> {
        let found = self.evidence.interval(confidence).ok_or(CellError::RatioOutOfRange)?;
        let is_mean = matches!(self.evidence, Evidence::T(_));
        Ok(self.beyond.map_or(found, |limit| limited(found, limit, is_mean)))
    }
}

/// The interval that the observations allow, and with bounds among them both estimates.
fn bracket(
    lowest: &End,
    highest: Option<&End>,
    confidence: f64,
) -> Result<(RatioInterval, Option<AllowedRatio>), CellError> {
    let low = lowest.interval(confidence)?;
    let Some(highest) = highest else { return Ok((low, None)) };
    let (found, allowed) = joined(low, highest.interval(confidence)?);
    Ok((found, Some(allowed)))
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
        let (adjusted, _) = bracket(&self.lowest, self.highest.as_ref(), 1.0 - tail)?;
        // More values do not narrow what bounds leave open.
        let is_open = self.allowed.is_some_and(|allowed| allowed.lowest != allowed.highest);
        let evidence = (!is_open).then_some(&self.lowest.evidence);
        let outlook = Outlook::new(self.arms, settings, level, evidence, &self.plain);
        let more = why.filter(|why| *why != NotDecided::BoundsDecide);
        Ok(CellResult {
            verdict,
            why,
            method: self.method,
            ratio: self.plain.ratio,
            allowed: self.allowed,
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
            more_blocks: more.and_then(|why| outlook.more_blocks(why)),
            interval_needs: outlook.interval_needs(adjusted.low, adjusted.high),
            n_first: first.len(),
            n_second: second.len(),
        })
    }

    fn verdict(&self, settings: &Settings, difference_p: f64, equivalence_p: f64) -> Verdict {
        let different = reaches(difference_p, settings.alpha);
        let (lowest, highest) = match self.allowed {
            Some(allowed) => (allowed.lowest, allowed.highest),
            None => (self.plain.ratio, self.plain.ratio),
        };
        if reaches(equivalence_p, settings.alpha) {
            Verdict::Equivalent
        } else if different && lowest > 1.0 + settings.margin {
            Verdict::Regression
        } else if different && highest < 1.0 / (1.0 + settings.margin) {
            Verdict::Improvement
        } else {
            Verdict::CannotTell
        }
    }

    fn not_decided(&self, settings: &Settings, adjusted_p: f64) -> NotDecided {
        let alone = self.verdict(settings, self.difference_p, self.equivalence_p);
        let by_ranks = matches!(self.method, Method::HodgesLehmann | Method::SignedRank);
        if !self.rank_can_fire && by_ranks {
            NotDecided::TooFewValues
        } else if self.allowed.is_some_and(|allowed| allowed.lowest != allowed.highest) {
            NotDecided::BoundsDecide
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
        if first.len().max(second.len()) > FEW_VALUES || self.allowed.is_some() {
            return None;
        }
        let values = |of: &[Observation]| of.iter().map(|it| it.value).collect::<Vec<f64>>();
        let (first, second) = (values(first), values(second));
        match pairing {
            Pairing::Unpaired => permutation_p(&first, &second),
            Pairing::Paired => {
                let differences: Vec<f64> =
                    first.iter().zip(&second).map(|(first, second)| second - first).collect();
                sign_flip_p(&differences)
            }
        }
    }
}
