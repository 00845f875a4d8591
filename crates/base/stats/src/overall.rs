//! One effect over many cells: the geometric mean of their ratios, with an interval and a verdict.
//!
//! The estimate is the mean over all cells of the logarithm of each cell's ratio, with equal
//! weights. The mixed model ([`mixed`]) and the permutation test ([`permuted`], where it can reach
//! the level) judge it: each p-value is the larger of the two, and the interval spans both. Both
//! respect that values of one trial in several cells move together (docs/comparing.md).
//!
//! **Invariant:** the chance that any verdict on the overall effects judged together is wrong is
//! at most α, stepped down like the cells' verdicts; see [`crate::compare`].

mod mixed;
mod permuted;
#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::comparison::{Judged, NotDecided, Settings, Verdict};
use crate::multiple::{ExclusiveFamily, reaches};
use crate::rank_inversion::{Inversion, RatioInterval};
use crate::t_intervals::{LogRatio, NO_SPREAD};
use crate::{Pairing, Refused, refused};
use mixed::Effect;
use permuted::PermutationInversion;

/// A cost with its trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialCost {
    /// Number of the trial: equal numbers in several cells of one arm are one trial.
    pub trial: usize,
    /// The cost: positive, lower is better.
    pub cost: f64,
}

/// One cell of an overall effect.
#[derive(Clone, Debug, PartialEq)]
pub struct OverallCell {
    /// The ratio second / first of its own comparison.
    pub ratio: f64,
    /// The first arm's trials.
    pub first: Vec<TrialCost>,
    /// The other arm's trials.
    pub second: Vec<TrialCost>,
    /// Whether values at the same position belong together.
    pub pairing: Pairing,
}

/// The effect over all cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverallEffect {
    /// The verdict.
    pub verdict: Verdict,
    /// The reason of [`Verdict::CannotTell`].
    pub why: Option<NotDecided>,
    /// The geometric mean of the cells' ratios.
    pub ratio: f64,
    /// Lower end of the interval at the step-down level: the lower of both methods.
    pub low: f64,
    /// Upper end: the higher of both methods.
    pub high: f64,
    /// Two-sided p-value of "the ratio is 1": the larger of both methods.
    pub p: f64,
    /// `p`, adjusted for the other overall effects: compare it with α.
    pub p_adjusted: f64,
    /// p-value of "the ratio is outside the margin", adjusted: compare it with α.
    pub equivalence_p_adjusted: f64,
    /// The mixed model at confidence 1 - α; `None` without spread.
    pub mixed: Option<LogRatio>,
    /// The permutation test at confidence 1 - α; `None` if it cannot reach the level or trials
    /// lack cells.
    pub permutation: Option<PermutationInterval>,
    /// Number of cells.
    pub cells: usize,
    /// Number of trials, or pairs, of both arms over all cells.
    pub trials: usize,
}

/// The result of a permutation test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PermutationInterval {
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Two-sided p-value of "the ratio is 1".
    pub p: f64,
    /// Number of relabellings.
    pub arrangements: usize,
    /// Whether those are all; otherwise they were drawn with a fixed seed.
    pub exact: bool,
}

/// Judges overall effects, each of its own cells, as one family.
pub fn overall(
    effects: &[Vec<OverallCell>],
    settings: &Settings,
) -> Vec<Result<OverallEffect, Refused>> {
    let effects: Vec<Vec<OverallCell>> = effects.iter().map(|cells| alike(cells)).collect();
    let estimated: Vec<_> = effects.iter().map(|cells| mixed::estimate(cells)).collect();
    let level = settings.alpha / estimated.iter().flatten().count() as f64;
    let weighed: Vec<_> = estimated
        .into_iter()
        .zip(&effects)
        .map(|(found, cells)| EffectTests::new(found?, cells, settings, level))
        .collect();
    let p_values =
        |weighed: &EffectTests| (weighed.difference_p(), weighed.equivalence_p(settings.margin));
    let p_values: Vec<(f64, f64)> = weighed.iter().flatten().map(p_values).collect();
    let family = ExclusiveFamily::new(&p_values);
    weighed.into_iter().map(|found| Ok(found?.judge(settings, &family))).collect()
}

fn alike(cells: &[OverallCell]) -> Vec<OverallCell> {
    let are_pairs = cells.iter().all(|cell| cell.pairing == Pairing::Paired);
    let pairing = if are_pairs { Pairing::Paired } else { Pairing::Unpaired };
    cells.iter().map(|cell| OverallCell { pairing, ..cell.clone() }).collect()
}

/// An effect over all cells with its tests.
struct EffectTests {
    effect: Effect,
    mixed: Option<LogRatio>,
    permuted: Option<PermutationInversion>,
}

impl EffectTests {
    fn new(
        effect: Effect,
        cells: &[OverallCell],
        settings: &Settings,
        level: f64,
    ) -> Result<Self, Refused> {
        let mixed = effect.log_ratio(1.0 - settings.alpha);
        let permuted = PermutationInversion::new(cells, effect.log)
            .filter(|permuted| reaches(permuted.smallest_p(), level));
        if mixed.is_none() && permuted.is_none() && effect.log.abs() > NO_SPREAD {
            return refused("the cells' ratios do not spread: there is nothing to judge them by");
        }
        Ok(Self { effect, mixed, permuted })
    }

    /// The largest p-value; without spread the estimate is the truth.
    fn largest(&self, p: impl Fn(&dyn Inversion) -> f64, is_one: bool) -> f64 {
        self.methods().map(p).reduce(f64::max).unwrap_or(f64::from(u8::from(is_one)))
    }

    fn methods(&self) -> impl Iterator<Item = &dyn Inversion> {
        let mixed = self.mixed.iter().map(|mixed| mixed as &dyn Inversion);
        mixed.chain(self.permuted.iter().map(|permuted| permuted as &dyn Inversion))
    }

    fn judge(&self, settings: &Settings, family: &ExclusiveFamily) -> OverallEffect {
        let (p, ratio) = (self.difference_p(), self.effect.log.exp());
        let p_values = (p, self.equivalence_p(settings.margin));
        let judged = Judged::new(settings, family, p_values, (ratio, ratio));
        let interval = self.interval(1.0 - judged.tail);
        OverallEffect {
            verdict: judged.verdict,
            why: judged.why,
            ratio,
            low: interval.map_or(ratio, |of| of.low),
            high: interval.map_or(ratio, |of| of.high),
            p,
            p_adjusted: judged.p_adjusted,
            equivalence_p_adjusted: judged.equivalence_p_adjusted,
            mixed: self.mixed,
            permutation: self.permuted.as_ref().map(|of| of.summary(1.0 - settings.alpha)),
            cells: self.effect.cells,
            trials: self.effect.trials,
        }
    }
}

impl Inversion for EffectTests {
    fn p_at_most(&self, ratio: f64) -> f64 {
        self.largest(|method| method.p_at_most(ratio), ratio >= 1.0)
    }

    fn p_at_least(&self, ratio: f64) -> f64 {
        self.largest(|method| method.p_at_least(ratio), ratio <= 1.0)
    }

    fn interval(&self, confidence: f64) -> Option<RatioInterval> {
        let ratio = self.effect.log.exp();
        let own = RatioInterval { ratio, low: ratio, high: ratio, confidence_attained: confidence };
        let intervals = self.methods().filter_map(|method| method.interval(confidence));
        Some(intervals.fold(own, |span, of| RatioInterval {
            low: span.low.min(of.low),
            high: span.high.max(of.high),
            ..span
        }))
    }
}
