//! The step at which something changed, along an ordered axis: commits, releases, sizes.
//!
//! Where a step's verdict is certain (it builds or not, an exact cell), halving finds the change after
//! about log2(n) steps ([`ExactBisect`]). Where it is noisy, one wrong verdict sends the halving into
//! the wrong half forever. Then every measurement changes the probability of each step instead, the
//! next one is made where it divides the probability best, and the search ends when one step, or a
//! range, has the requested probability ([`NoisyBisect`]). "There is no change" is one of the
//! hypotheses, so that noise alone has an answer, too.

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
/// Queries about log2(n) steps. A skipped step is replaced with its nearest neighbour, as in `git
/// bisect skip` but deterministically; the result is a range if only skipped steps are left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactBisect {
    good: usize,
    bad: usize,
    skipped: BTreeSet<usize>,
}

impl ExactBisect {
    /// For `steps` steps, numbered from 0; `None` for fewer than two.
    pub fn new(steps: usize) -> Option<ExactBisect> {
        (steps >= 2).then(|| ExactBisect { good: 0, bad: steps - 1, skipped: BTreeSet::new() })
    }

    /// The step to judge next; `None` when [`ExactBisect::suspects`] is the result.
    pub fn next(&self) -> Option<usize> {
        let middle = self.good + (self.bad - self.good) / 2;
        (self.good + 1..self.bad)
            .filter(|step| !self.skipped.contains(step))
            .min_by_key(|step| step.abs_diff(middle))
    }

    /// Records the verdict on any step. Fails when no single change explains it.
    pub fn record(&mut self, step: usize, outcome: Outcome) -> Result<(), Refused> {
        match outcome {
            Outcome::Good if step < self.bad => self.good = self.good.max(step),
            Outcome::Bad if step > self.good => self.bad = self.bad.min(step),
            Outcome::Skip if step != self.good && step != self.bad => {
                self.skipped.insert(step);
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
        Ok(())
    }

    /// The candidates for the first bad step: several if steps were skipped or not judged yet.
    pub fn suspects(&self) -> RangeInclusive<usize> {
        self.good + 1..=self.bad
    }
}
