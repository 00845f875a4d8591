//! One cell of a family: checked, weighed by its method, and judged once the others are known.

use model::Observation;

use super::evidence::Evidence;
use super::outlook::{self, Outlook};
use super::{
    AllowedRatio, Arms, CellResult, Judged, Method, NotDecided, Pairing, Settings, Verdict,
};
use crate::beyond::{BEYOND, beyond, has_bounds, joined, limited, raised};
use crate::log_ratio::{LogRatio, paired_log_ratio, welch_log_ratio};
use crate::multiple::{ExclusiveFamily, reaches};
use crate::permutation::{permutation_p, sign_flip_p};
use crate::rank_inversion::Inversion;
use crate::{RatioInterval, Refused, refused};

/// Most values a side for which the permutation test is given.
const FEW_VALUES: usize = 4;

const OUT_OF_RANGE: &str = "the values differ by more than a float can hold: check the unit";

/// Whether these samples can be compared at all.
pub(super) fn check(arms: &Arms, settings: &Settings) -> Result<(), Refused> {
    let Settings { margin, alpha } = *settings;
    if !(margin >= 0.0 && margin.is_finite() && alpha > 0.0 && alpha < 0.5) {
        return refused(format!(
            "margin {margin} must be 0 or more, alpha {alpha} above 0 and below 0.5"
        ));
    }
    let Arms { first, second, pairing } = arms;
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
    // Bounds are raised beyond everything.
    let raise = if has_bounds(first) || has_bounds(second) { BEYOND } else { 1.0 };
    let ratios = [raise * other_high / low, other_low / high / raise, raise * high / other_low];
    if ratios.iter().all(|ratio| ratio.is_normal()) { Ok(()) } else { refused(OUT_OF_RANGE) }
}

/// The evidence by the smallest ratio that the observations allow and, with bounds among them, by
/// the largest.
struct Bracket {
    evidence: Vec<Evidence>,
    /// What a ratio is that has no limit, 0 and infinite; `None` where no value was raised.
    limits: [Option<f64>; 2],
}

impl Bracket {
    /// The interval that the observations allow, and with bounds among them both estimates.
    fn found(&self, confidence: f64) -> Option<(RatioInterval, Option<AllowedRatio>)> {
        let interval = |(evidence, limit): (&Evidence, &Option<f64>)| {
            let found = evidence.test().interval(confidence)?;
            let is_mean = matches!(evidence, Evidence::T(_));
            Some(limit.map_or(found, |limit| limited(found, limit, is_mean)))
        };
        let found: Vec<_> =
            self.evidence.iter().zip(&self.limits).map(interval).collect::<Option<_>>()?;
        let [smallest, largest] = found[..] else { return Some((*found.first()?, None)) };
        let (found, allowed) = joined(smallest, largest);
        Some((found, Some(allowed)))
    }
}

impl Inversion for Bracket {
    fn p_at_most(&self, ratio: f64) -> f64 {
        self.evidence[0].test().p_at_most(ratio)
    }

    fn p_at_least(&self, ratio: f64) -> f64 {
        self.evidence[self.evidence.len() - 1].test().p_at_least(ratio)
    }

    fn interval(&self, confidence: f64) -> Option<RatioInterval> {
        self.found(confidence).map(|(found, _)| found)
    }
}

/// A cell with what its method says, before the other cells are known.
pub(super) struct Weighed {
    bracket: Bracket,
    outlook: Outlook,
    /// As if there were no other cells and no verdict.
    found: CellResult,
}

/// Chooses the method of a checked cell, for the strictest `level` of the family, and applies it.
pub(super) fn weigh(arms: &Arms, settings: &Settings, level: f64) -> Result<Weighed, Refused> {
    let Arms { first, second, pairing } = arms;
    let smallest_p = outlook::smallest_p(*pairing, first.len(), second.len());
    let rank_can_fire = reaches(smallest_p, level);
    let confidence = 1.0 - settings.alpha;
    let beyond = beyond(first.iter().chain(second));
    let is_bounded = has_bounds(first) || has_bounds(second);
    // All bounds of one arm as values and all of the other beyond everything, and the other way.
    let mut extremes = vec![(raised(first, Some(beyond)), raised(second, None))];
    extremes.extend(is_bounded.then(|| (raised(first, None), raised(second, Some(beyond)))));
    let (ranks, t) = match pairing {
        Pairing::Unpaired => (Method::HodgesLehmann, Method::WelchLog),
        Pairing::Paired => (Method::SignedRank, Method::PairedLog),
    };
    let by_t = extremes.iter().map(|(first, second)| match pairing {
        Pairing::Unpaired => welch_log_ratio(first, second, confidence),
        Pairing::Paired => paired_log_ratio(first, second, confidence),
    });
    let by_t: Option<Vec<LogRatio>> = by_t.collect();
    // t decides only where it has a spread at both extremes.
    let (method, evidence) = match &by_t {
        Some(by_t) if !rank_can_fire => (t, by_t.iter().copied().map(Evidence::T).collect()),
        _ => {
            let by_ranks = extremes.iter().map(|values| Evidence::by_ranks(values, *pairing));
            (ranks, by_ranks.collect::<Option<_>>().ok_or_else(|| Refused::new(OUT_OF_RANGE))?)
        }
    };
    let limits = [has_bounds(first).then_some(0.0), has_bounds(second).then_some(f64::INFINITY)];
    let bracket = Bracket { evidence, limits };
    let (plain, allowed) = bracket.found(confidence).ok_or_else(|| Refused::new(OUT_OF_RANGE))?;
    let one_value = first.iter().chain(second).all(|observed| *observed == first[0]);
    let constant = !is_bounded && one_value && first.len() > 1 && second.len() > 1;
    // More values do not narrow what bounds leave open.
    let is_open = allowed.is_some_and(|allowed| allowed.lowest != allowed.highest);
    let evidence = (!is_open).then_some(&bracket.evidence[0]);
    let outlook = Outlook::new(arms, settings, level, evidence, &plain);
    let p = bracket.difference_p();
    let equivalence_p = if constant { 0.0 } else { bracket.equivalence_p(settings.margin) };
    let found = CellResult {
        verdict: Verdict::CannotTell,
        why: None,
        method,
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
        permutation_p: if is_bounded { None } else { exact_p(&extremes[0], *pairing) },
        minimum_detectable: outlook.minimum_detectable(),
        more_blocks: None,
        interval_needs: None,
        n_first: first.len(),
        n_second: second.len(),
    };
    Ok(Weighed { bracket, outlook, found })
}

fn exact_p((first, second): &(Vec<f64>, Vec<f64>), pairing: Pairing) -> Option<f64> {
    if first.len().max(second.len()) > FEW_VALUES {
        return None;
    }
    match pairing {
        Pairing::Unpaired => permutation_p(first, second),
        Pairing::Paired => {
            let pairs = first.iter().zip(second);
            sign_flip_p(&pairs.map(|(first, second)| second - first).collect::<Vec<f64>>())
        }
    }
}

impl Weighed {
    /// p-values of "no difference" and "not equivalent".
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
        let by_ranks = matches!(found.method, Method::HodgesLehmann | Method::SignedRank);
        let why = judged.why.map(|why| match why {
            _ if by_ranks && !found.rank_can_fire => NotDecided::TooFewValues,
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
