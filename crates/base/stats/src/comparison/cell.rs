//! One cell of a family: checked, weighed by its method, and judged among the others.

use model::Observation;

use super::outlook::{self, Outlook};
use super::{AllowedRatio, Arms, CellResult, Judged, Method, NotDecided, Settings, Verdict};
use crate::bounded::{BEYOND, beyond, has_bounds, joined, limited, raised};
use crate::hodges_lehmann::pairwise_inversion;
use crate::hodges_lehmann::walsh_inversion;
use crate::multiple::{ExclusiveFamily, reaches};
use crate::permutation::permutation_p;
use crate::rank_inversion::Inversion;
use crate::sign_flips::sign_flip_p;
use crate::t_intervals::{LogRatio, log_ratio};
use crate::{Pairing, RatioInterval, Refused, pairs, refused};

/// Most values a side for the permutation test.
const FEW_VALUES: usize = 4;

const OUT_OF_RANGE: &str = "the values differ by more than a float can hold: check the unit";

pub(super) fn check(arms: &Arms, settings: &Settings) -> Result<(), Refused> {
    let Settings { margin, alpha } = *settings;
    if !(margin >= 0.0 && margin.is_finite() && alpha > 0.0 && alpha < 0.5) {
        return refused(format!(
            "margin {margin} must be 0 or more, alpha {alpha} above 0 and below 0.5"
        ));
    }
    let Arms { first, second, pairing, .. } = arms;
    if first.is_empty() || second.is_empty() {
        return refused("a sample has no values: nothing to compare");
    }
    let bad = |value: &f64| !(value.is_finite() && *value > 0.0);
    if let Some(value) = first.iter().chain(second).map(|observed| observed.value).find(bad) {
        return refused(format!("the value {value} has no ratio: costs must be above 0"));
    }
    if *pairing == Pairing::Paired && first.len() != second.len() {
        let (first, second) = (first.len(), second.len());
        return refused(format!(
            "{first} values cannot be paired with {second}: leave out incomplete pairs, or compare \
             them unpaired"
        ));
    }
    let range = |values: &[Observation]| {
        let values = values.iter().map(|observed| observed.value);
        let low = values.clone().fold(f64::INFINITY, f64::min);
        (low, values.fold(0.0, f64::max))
    };
    let ((low, high), (other_low, other_high)) = (range(first), range(second));
    let raise = if has_bounds(first) || has_bounds(second) { BEYOND } else { 1.0 };
    let ratios = [raise * other_high / low, other_low / high / raise, raise * high / other_low];
    if ratios.iter().all(|ratio| ratio.is_normal()) { Ok(()) } else { refused(OUT_OF_RANGE) }
}

/// The test of the smallest ratio that the observations allow and, with bounds, of the largest.
struct Bracket {
    tests: Vec<Box<dyn Inversion>>,
    is_t: bool,
    /// The limits 0 and infinity; `None` where no value was raised.
    limits: [Option<f64>; 2],
}

impl Bracket {
    /// The interval that the observations allow and, with bounds, both estimates.
    fn found(&self, confidence: f64) -> Option<(RatioInterval, Option<AllowedRatio>)> {
        let bounded = self.tests.iter().zip(&self.limits).map(|(test, limit)| {
            let found = test.interval(confidence)?;
            Some(limit.map_or(found, |limit| limited(found, limit, self.is_t)))
        });
        let found: Vec<_> = bounded.collect::<Option<_>>()?;
        let [smallest, largest] = found[..] else { return Some((*found.first()?, None)) };
        let (found, allowed) = joined(smallest, largest);
        Some((found, Some(allowed)))
    }
}

impl Inversion for Bracket {
    fn p_at_most(&self, ratio: f64) -> f64 {
        self.tests[0].p_at_most(ratio)
    }

    fn p_at_least(&self, ratio: f64) -> f64 {
        self.tests[self.tests.len() - 1].p_at_least(ratio)
    }

    fn interval(&self, confidence: f64) -> Option<RatioInterval> {
        self.found(confidence).map(|(found, _)| found)
    }
}

/// A cell with its method's results, before the other cells are known.
pub(super) struct UnadjustedCell {
    bracket: Bracket,
    outlook: Outlook,
    /// The result before adjustment and verdict.
    found: CellResult,
}

/// Chooses the method of a checked cell, for the strictest `level` of the family, and applies it.
pub(super) fn weigh(
    arms: &Arms,
    settings: &Settings,
    level: f64,
) -> Result<UnadjustedCell, Refused> {
    let Arms { first, second, pairing, least_log_error } = arms;
    let smallest_p = outlook::smallest_p(*pairing, first.len(), second.len());
    let rank_can_fire = reaches(smallest_p, level);
    let confidence = 1.0 - settings.alpha;
    let beyond = beyond(first.iter().chain(second));
    let is_bounded = has_bounds(first) || has_bounds(second);
    // Bounds of one arm as values, those of the other beyond everything, and vice versa.
    let mut extremes = vec![(raised(first, Some(beyond)), raised(second, None))];
    extremes.extend(is_bounded.then(|| (raised(first, None), raised(second, Some(beyond)))));
    let by_t: Option<Vec<LogRatio>> = extremes
        .iter()
        .map(|(first, second)| {
            log_ratio(first, second, *pairing, confidence)?.at_least(*least_log_error, confidence)
        })
        .collect();
    // t decides only where it has a spread at both extremes.
    let deciding_t = by_t.as_ref().filter(|_| !rank_can_fire);
    let by_ranks = |(first, second): &(Vec<f64>, Vec<f64>)| -> Option<Box<dyn Inversion>> {
        Some(Box::new(match pairing {
            Pairing::Unpaired => pairwise_inversion(first, second),
            Pairing::Paired => walsh_inversion(first, second),
        }?))
    };
    let tests = match deciding_t {
        Some(by_t) => Some(by_t.iter().map(|t| Box::new(*t) as Box<dyn Inversion>).collect()),
        None => extremes.iter().map(by_ranks).collect(),
    };
    let bracket = Bracket {
        tests: tests.ok_or_else(|| Refused::new(OUT_OF_RANGE))?,
        is_t: deciding_t.is_some(),
        limits: [has_bounds(first).then_some(0.0), has_bounds(second).then_some(f64::INFINITY)],
    };
    let (plain, allowed) = bracket.found(confidence).ok_or_else(|| Refused::new(OUT_OF_RANGE))?;
    let one_value = first.iter().chain(second).all(|observed| *observed == first[0]);
    let constant = !is_bounded && one_value && first.len() > 1 && second.len() > 1;
    let is_small = !is_bounded && first.len().max(second.len()) <= FEW_VALUES;
    // More values do not narrow what bounds leave open.
    let is_open = allowed.is_some_and(|allowed| allowed.lowest != allowed.highest);
    let error = deciding_t.map(|by_t| by_t[0].log_standard_error);
    let outlook = Outlook::new(arms, settings, level, &plain, (!is_open).then_some(error));
    let p = bracket.difference_p();
    let equivalence_p = if constant { 0.0 } else { bracket.equivalence_p(settings.margin) };
    let found = CellResult {
        verdict: Verdict::CannotTell,
        why: None,
        method: match (pairing, bracket.is_t) {
            (Pairing::Unpaired, false) => Method::HodgesLehmann,
            (Pairing::Unpaired, true) => Method::WelchLog,
            (Pairing::Paired, false) => Method::SignedRank,
            (Pairing::Paired, true) => Method::PairedLog,
        },
        ratio: plain.ratio,
        allowed,
        low: plain.low,
        high: plain.high,
        confidence_attained: plain.confidence_attained,
        adjusted_low: plain.low,
        adjusted_high: plain.high,
        p,
        p_adjusted: p,
        equivalence_p_adjusted: equivalence_p,
        smallest_p,
        rank_can_fire,
        rank_needs: outlook::rank_needs(*pairing, level),
        log_ratio: by_t.filter(|_| !is_bounded).map(|by_t| by_t[0]),
        permutation_p: is_small.then(|| exact_p(&extremes[0], *pairing)).flatten(),
        minimum_detectable: outlook.minimum_detectable(),
        more_blocks: None,
        interval_needs: None,
        n_first: first.len(),
        n_second: second.len(),
    };
    Ok(UnadjustedCell { bracket, outlook, found })
}

fn exact_p((first, second): &(Vec<f64>, Vec<f64>), pairing: Pairing) -> Option<f64> {
    match pairing {
        Pairing::Unpaired => permutation_p(first, second),
        Pairing::Paired => sign_flip_p(&pairs(first, second, |first, second| second - first)?),
    }
}

impl UnadjustedCell {
    pub(super) fn p_values(&self) -> (f64, f64) {
        (self.found.p, self.found.equivalence_p_adjusted)
    }

    /// The result, given the p-values of all cells.
    pub(super) fn judge(
        self,
        settings: &Settings,
        family: &ExclusiveFamily,
    ) -> Result<CellResult, Refused> {
        let p_values = self.p_values();
        let Self { bracket, outlook, found } = self;
        let (lowest, highest) =
            found.allowed.map_or((found.ratio, found.ratio), |of| (of.lowest, of.highest));
        let judged = Judged::new(settings, family, p_values, (lowest, highest));
        let why = judged.why.map(|why| match why {
            _ if !bracket.is_t && !found.rank_can_fire => NotDecided::TooFewValues,
            _ if lowest != highest => NotDecided::BoundsDecide,
            why => why,
        });
        let adjusted = bracket.interval(1.0 - judged.tail);
        let adjusted = adjusted.ok_or_else(|| Refused::new(OUT_OF_RANGE))?;
        let more = why.filter(|why| *why != NotDecided::BoundsDecide);
        Ok(CellResult {
            verdict: judged.verdict,
            why,
            adjusted_low: adjusted.low,
            adjusted_high: adjusted.high,
            p_adjusted: judged.p_adjusted,
            equivalence_p_adjusted: judged.equivalence_p_adjusted,
            more_blocks: more.and_then(|why| outlook.more_blocks(why)),
            interval_needs: outlook.interval_needs(adjusted.low, adjusted.high),
            ..found
        })
    }
}
