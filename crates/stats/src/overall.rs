//! One effect over many cells: the geometric mean of their ratios, with an interval and a verdict.
//!
//! The estimate is declared before anything is seen: the mean over all cells of the logarithm of
//! each cell's ratio, every cell counting once. The model is additive on logarithms,
//!
//! log cost = cell + effect of the arm + (arm × cell) + trial,
//!
//! with the arm × cell term and the trials random. Two methods judge it:
//!
//! * the **mixed model**: t with the variance of the estimate under that model ([`mixed`]);
//! * the **permutation test**: the arms' labels exchanged within the cells, so that it needs no
//!   distribution ([`permuted`]). It is left out where it could not reach the level.
//!
//! Where both are there, each p-value is the larger of the two and the interval spans both, so that
//! a verdict holds by either.
//!
//! **Unit.** The unit is the trial. Values of one trial in several cells (the commands of one
//! session) move together, in the variance and in the permutation; a single trial a side then shows
//! nothing of how trials differ, and there is no effect over all.
//!
//! **Invariant:** of all overall effects that are judged together the chance that any verdict is
//! wrong is at most α, stepped down as the cells' verdicts are; see [`crate::compare`].

mod mixed;
mod permuted;
#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::comparison::{NotDecided, Pairing, Settings, Verdict};
use crate::log_ratio::LogRatio;
use crate::multiple::{ExclusiveFamily, reaches};
use mixed::Effect;
use permuted::PermutationInversion;

/// A cost, and the trial that it is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialCost {
    /// The trial: values with equal numbers in several cells of one arm are of one trial.
    pub trial: usize,
    /// The cost: positive, lower is better.
    pub cost: f64,
}

/// One cell of an overall effect.
#[derive(Clone, Debug, PartialEq)]
pub struct OverallCell {
    /// Its ratio second / first, as its own comparison estimates it.
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
    /// What was found.
    pub verdict: Verdict,
    /// Why nothing was, if the verdict is [`Verdict::CannotTell`].
    pub why: Option<NotDecided>,
    /// The geometric mean of the cells' ratios.
    pub ratio: f64,
    /// Lower end of the interval, at the level of the step-down: the lower of both methods.
    pub low: f64,
    /// Upper end of it: the higher of both methods.
    pub high: f64,
    /// Two-sided p-value of "the ratio is 1": the larger of both methods.
    pub p: f64,
    /// The same adjusted for the other overall effects: compare it with α.
    pub p_adjusted: f64,
    /// p-value of "the ratio is outside the margin", adjusted: compare it with α.
    pub equivalence_p_adjusted: f64,
    /// The mixed model at confidence 1 - α; `None` where there is no spread.
    pub mixed: Option<LogRatio>,
    /// The permutation test at confidence 1 - α; `None` where it could not reach the level, or
    /// where trials lack some of the cells that they share.
    pub permutation: Option<PermutationInterval>,
    /// How many cells.
    pub cells: usize,
    /// How many trials, or pairs of them, both arms have over all cells.
    pub trials: usize,
}

/// What a permutation test says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PermutationInterval {
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Two-sided p-value of "the ratio is 1".
    pub p: f64,
    /// How many ways to exchange the labels it rests on.
    pub arrangements: usize,
    /// Whether those are all that there are; otherwise they were drawn with a fixed seed.
    pub exact: bool,
}

/// Why there is no effect over all cells.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum OverallError {
    /// There are fewer than two cells.
    #[error("one cell is its own verdict: an effect over all takes two")]
    TooFewCells,
    /// A cost or ratio is not positive and finite.
    #[error("the value {0} has no ratio: costs must be above 0")]
    NotPositive(f64),
    /// A cell lacks values, or its pairs do not match.
    #[error("a cell has no trials to judge by")]
    NoTrials,
    /// Cells are of one trial a side.
    #[error("the cells are of a single trial: how trials differ was not seen")]
    SingleTrial,
    /// All cells have exactly one ratio, and it is not 1.
    #[error("the cells' ratios do not spread: there is nothing to judge them by")]
    NoSpread,
}

/// Judges overall effects, each of its own cells, as one family.
#[must_use]
pub fn overall(
    effects: &[Vec<OverallCell>],
    settings: &Settings,
) -> Vec<Result<OverallEffect, OverallError>> {
    let effects: Vec<Vec<OverallCell>> = effects.iter().map(|cells| alike(cells)).collect();
    let estimated: Vec<_> = effects.iter().map(|cells| mixed::estimate(cells)).collect();
    let count = estimated.iter().filter(|found| found.is_ok()).count();
    let level = settings.alpha / count as f64;
    let weighed: Vec<_> = estimated
        .into_iter()
        .zip(&effects)
        .map(|(found, cells)| Weighed::new(found?, cells, settings, level))
        .collect();
    let p_values: Vec<(f64, f64)> = weighed
        .iter()
        .flatten()
        .map(|weighed| (weighed.difference_p(), weighed.equivalence_p(settings.margin)))
        .collect();
    let family = ExclusiveFamily::new(&p_values);
    weighed.into_iter().map(|found| Ok(found?.judge(settings, &family))).collect()
}

/// The cells, as pairs if all of them are, else none: a trial's share of a pair's ratio has the other
/// sign than its share of a first arm.
fn alike(cells: &[OverallCell]) -> Vec<OverallCell> {
    let are_pairs = cells.iter().all(|cell| cell.pairing == Pairing::Paired);
    let pairing = if are_pairs { Pairing::Paired } else { Pairing::Unpaired };
    cells.iter().map(|cell| OverallCell { pairing, ..cell.clone() }).collect()
}

/// An effect and what both methods say of it.
struct Weighed {
    effect: Effect,
    mixed: Option<LogRatio>,
    permuted: Option<PermutationInversion>,
}

impl Weighed {
    fn new(
        effect: Effect,
        cells: &[OverallCell],
        settings: &Settings,
        level: f64,
    ) -> Result<Self, OverallError> {
        let mixed = effect.log_ratio(1.0 - settings.alpha);
        let permuted = PermutationInversion::new(cells, effect.log)
            .filter(|permuted| reaches(permuted.smallest_p(), level));
        if mixed.is_none() && permuted.is_none() && effect.log.abs() > crate::log_ratio::NO_SPREAD {
            return Err(OverallError::NoSpread);
        }
        Ok(Self { effect, mixed, permuted })
    }

    /// One-sided p-value of "the true ratio is at most `ratio`". Without any spread the estimate is
    /// the truth.
    fn p_at_most(&self, ratio: f64) -> f64 {
        let mixed = self.mixed.map(|mixed| mixed.p_at_most(ratio));
        let permuted = self.permuted.as_ref().map(|permuted| permuted.p_at_most(ratio.ln()));
        larger(mixed, permuted).unwrap_or(if ratio >= 1.0 { 1.0 } else { 0.0 })
    }

    fn p_at_least(&self, ratio: f64) -> f64 {
        let mixed = self.mixed.map(|mixed| mixed.p_at_least(ratio));
        let permuted = self.permuted.as_ref().map(|permuted| permuted.p_at_least(ratio.ln()));
        larger(mixed, permuted).unwrap_or(if ratio <= 1.0 { 1.0 } else { 0.0 })
    }

    fn difference_p(&self) -> f64 {
        (2.0 * self.p_at_most(1.0).min(self.p_at_least(1.0))).min(1.0)
    }

    fn equivalence_p(&self, margin: f64) -> f64 {
        self.p_at_most(1.0 / (1.0 + margin)).max(self.p_at_least(1.0 + margin))
    }

    /// The span of both methods' intervals.
    fn interval(&self, confidence: f64) -> (f64, f64) {
        let estimate = self.effect.log.exp();
        let mixed = self.mixed.map_or((estimate, estimate), |mixed| mixed.interval(confidence));
        match &self.permuted {
            Some(permuted) => {
                let (low, high) = permuted.interval(confidence);
                (mixed.0.min(low), mixed.1.max(high))
            }
            None => mixed,
        }
    }

    fn judge(&self, settings: &Settings, family: &ExclusiveFamily) -> OverallEffect {
        let Settings { margin, alpha } = *settings;
        let (p, equivalence_p) = (self.difference_p(), self.equivalence_p(margin));
        let (difference, equivalence) = (family.adjusted(p), family.adjusted(equivalence_p));
        let ratio = self.effect.log.exp();
        let verdict = |difference_p: f64, equivalence_p: f64| match reaches(difference_p, alpha) {
            _ if reaches(equivalence_p, alpha) => Verdict::Equivalent,
            true if ratio > 1.0 + margin => Verdict::Regression,
            true if ratio < 1.0 / (1.0 + margin) => Verdict::Improvement,
            _ => Verdict::CannotTell,
        };
        let found = verdict(difference.p, equivalence.p);
        let why = (found == Verdict::CannotTell).then(|| match reaches(difference.p, alpha) {
            _ if verdict(p, equivalence_p) != Verdict::CannotTell => NotDecided::NotAmongSoMany,
            true => NotDecided::MarginInsideInterval,
            false => NotDecided::IntervalIncludesOne,
        });
        let tail = match found {
            Verdict::Equivalent => 2.0 * alpha / equivalence.divisor,
            _ => alpha / difference.divisor,
        };
        let (low, high) = self.interval(1.0 - tail);
        OverallEffect {
            verdict: found,
            why,
            ratio,
            low,
            high,
            p,
            p_adjusted: difference.p,
            equivalence_p_adjusted: equivalence.p,
            mixed: self.mixed,
            permutation: self.permuted.as_ref().map(|permuted| permuted.summary(1.0 - alpha)),
            cells: self.effect.cells,
            trials: self.effect.trials,
        }
    }
}

/// The larger of two values, of which one may be missing.
fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, other) => one.or(other),
    }
}
