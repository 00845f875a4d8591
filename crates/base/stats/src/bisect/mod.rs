//! The step at which something changed, along an ordered axis: commits, releases, sizes.
//!
//! Where a step's verdict is certain (it builds or not, an exact cell), halving finds the change
//! after about log2(n) steps ([`ExactBisect`]). If some steps are likelier than others, half of the
//! probability is divided off instead of half of the steps; that can be wrong by one verdict at
//! most, as no side may have more steps than the remaining verdicts can tell apart. Where it is
//! noisy, one wrong verdict sends the halving into the wrong half forever. Then every measurement
//! changes the probability of each step instead, the next one is made where it divides the
//! probability best, and the search ends when one step, or a range, has the requested probability
//! ([`NoisyBisect`]). "There is no change" is one of the hypotheses, so that noise alone has an
//! answer, too.

mod evidence;
mod noisy;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::{Refused, refused};
pub use noisy::{Conclusion, NoisyBisect, NoisySettings, Posterior};

/// The verdict on a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Like the first step.
    Good,
    /// Like the last step.
    Bad,
    /// It cannot be built or run.
    Skip,
}

/// Bisection with certain verdicts; the first step is known to be good, the last to be bad.
///
/// Queries at most ⌈log2(n - 1)⌉ steps, and one more if steps have weights. A skipped step is replaced
/// with its nearest neighbour, as in `git bisect skip` but deterministically; the result is a range if
/// only skipped steps are left.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactBisect {
    good: usize,
    bad: usize,
    skipped: BTreeSet<usize>,
    /// How likely the first bad step is this one or one before it, relative to each other; empty if
    /// all are alike.
    until: Vec<f64>,
    /// Verdicts after which there has to be an answer, if no step is skipped.
    remaining: u32,
}

impl ExactBisect {
    /// For `steps` steps, numbered from 0; `None` for fewer than two.
    pub fn new(steps: usize) -> Option<ExactBisect> {
        let last = steps.checked_sub(1).filter(|last| *last > 0)?;
        let remaining = last.next_power_of_two().trailing_zeros();
        Some(Self { good: 0, bad: last, skipped: BTreeSet::new(), until: Vec::new(), remaining })
    }

    /// Expects the change where the weights are large: one for each step, of which that of the first
    /// does not matter. Without them, all steps are alike. Fails when their number is another, or one
    /// is negative or not finite.
    pub fn expect(&mut self, weights: &[f64]) -> Result<(), Refused> {
        if weights.len() != self.bad + 1 || weights.iter().any(|it| !it.is_finite() || *it < 0.0) {
            return refused("a search needs a weight of 0 or more for each step".to_owned());
        }
        let sum = |sum: &mut f64, weight: &f64| {
            *sum += weight;
            Some(*sum)
        };
        self.until = weights.iter().scan(0.0, sum).collect();
        self.remaining += 1;
        Ok(())
    }

    /// The step to judge next; `None` when [`ExactBisect::suspects`] is the result.
    pub fn next(&self) -> Option<usize> {
        let most = 2_usize.saturating_pow(self.remaining.saturating_sub(1));
        let is_in_time = |step: &usize| (*step - self.good).max(self.bad - *step) <= most;
        let judged = || (self.good + 1..self.bad).filter(|step| !self.skipped.contains(step));
        self.nearest_to_half(judged().filter(is_in_time)).or_else(|| self.nearest_to_half(judged()))
    }

    /// The step that divides the weight best, and of equal ones the one in the middle.
    fn nearest_to_half(&self, steps: impl Iterator<Item = usize>) -> Option<usize> {
        let middle = self.good + (self.bad - self.good) / 2;
        let until = |step: usize| self.until.get(step).copied().unwrap_or_default();
        let ends = until(self.good) + until(self.bad);
        let unevenness = |step: usize| (2.0 * until(step) - ends).abs();
        steps.min_by(|one, other| {
            let by_weight = unevenness(*one).total_cmp(&unevenness(*other));
            by_weight.then(one.abs_diff(middle).cmp(&other.abs_diff(middle)))
        })
    }

    /// Records the verdict on any step. Fails when no single change explains it.
    pub fn record(&mut self, step: usize, outcome: Outcome) -> Result<(), Refused> {
        match outcome {
            Outcome::Good if step < self.bad => self.good = self.good.max(step),
            Outcome::Bad if step > self.good => self.bad = self.bad.min(step),
            Outcome::Skip if step != self.good && step != self.bad => {
                self.skipped.insert(step);
                return Ok(());
            }
            _ => {
                let (first, last) = self.suspects().into_inner();
                return refused(format!(
                    "step {step} is {outcome:?}, but the change lies in steps {first} to {last}: \
                     the order is wrong, the verdict is not certain, or there is more than one \
                     change"
                ));
            }
        }
        self.remaining = self.remaining.saturating_sub(1);
        Ok(())
    }

    /// The candidates for the first bad step: several if steps were skipped or not judged yet.
    pub fn suspects(&self) -> RangeInclusive<usize> {
        self.good + 1..=self.bad
    }
}
