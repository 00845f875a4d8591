//! Bisection on noisy measurements, by Bayes' theorem; docs/bisecting.md has its cost.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::evidence::{Evidence, Measured};
use crate::{Refused, refused};

/// While "nothing changed" is more likely than this, only the ends are measured.
const DOUBTFUL: f64 = 0.2;

/// Settings of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoisySettings {
    /// Probability at which a conclusion is drawn, 0.5 to 1.
    pub confidence: f64,
    /// Prior probability that nothing changed, from 0 to below 1. With prior p and confidence c,
    /// false alarms are about as rare as (1 - p)(1 - c) / (p c), however often the result is
    /// inspected.
    pub no_change_prior: f64,
    /// Most measurements, including earlier ones.
    pub budget: usize,
    /// Measurements from one of an end to the next; 0 = none.
    pub anchor_every: usize,
    /// Whether the machine may drift at a constant rate; rarely works without `anchor_every`.
    pub drift: bool,
}

impl Default for NoisySettings {
    fn default() -> NoisySettings {
        let (confidence, no_change_prior) = (0.95, 0.5);
        NoisySettings { confidence, no_change_prior, budget: 100, anchor_every: 4, drift: true }
    }
}

/// Probabilities after the measurements so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Posterior {
    /// Probability that the step with this index is the first changed one; 0 for step 0.
    pub first_changed: Vec<f64>,
    /// Probability that nothing changed.
    pub no_change: f64,
}

/// The state of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// The first changed step is one of these; several only for skipped steps.
    Changed(RangeInclusive<usize>),
    /// All steps are equal.
    NoChange,
    /// Unknown so far, or within the budget.
    Undecided,
}

/// Search for one change of level along `steps` steps.
///
/// docs/bisecting.md has the model; all its parameters except the position of the change are
/// integrated out in closed form (normal-gamma; Zellner 1971, chapter 3).
///
/// Noise is assumed normal, so record medians of runs, not single delays: with stalls of ten
/// standard deviations in 5 % of the measurements, 10 in 100 conclusions are wrong, not 3. With
/// drift in the model, record measurements of one session only.
#[derive(Clone, Debug, PartialEq)]
pub struct NoisyBisect {
    settings: NoisySettings,
    steps: usize,
    skipped: BTreeSet<usize>,
    measured: Vec<Measured>,
}

impl NoisyBisect {
    /// For `steps` steps, numbered from 0; `None` for fewer than two or invalid settings.
    pub fn new(steps: usize, settings: NoisySettings) -> Option<NoisyBisect> {
        let NoisySettings { confidence, no_change_prior, .. } = settings;
        let sensible = (0.5..1.0).contains(&confidence) && (0.0..1.0).contains(&no_change_prior);
        let (skipped, measured) = (BTreeSet::new(), Vec::new());
        (steps >= 2 && sensible).then_some(NoisyBisect { settings, steps, skipped, measured })
    }

    /// The step to measure next; `None` when the search is over or too many steps were skipped.
    pub fn next(&self) -> Option<usize> {
        let usable: Vec<usize> =
            (0..self.steps).filter(|step| !self.skipped.contains(step)).collect();
        let (&first, &last) = (usable.first()?, usable.last()?);
        let done = self.measured.len();
        if first == last || done >= self.settings.budget {
            return None;
        }
        if self.count(first) < 2 || self.count(last) < 2 {
            return Some(self.end(first, last));
        }
        let posterior = self.posterior();
        if self.conclude(&posterior) != Conclusion::Undecided {
            return None;
        }
        let every = self.settings.anchor_every;
        if posterior.no_change > DOUBTFUL || (every > 0 && done.is_multiple_of(every)) {
            return Some(self.end(first, last));
        }
        Some(median(&posterior, &usable))
    }

    /// Records a measurement, in any unit and in time order. Fails for an unknown step or a value
    /// that is not positive and finite.
    pub fn record(&mut self, step: usize, value: f64) -> Result<(), Refused> {
        if step >= self.steps {
            return refused(format!("step {step} is not one of those that are searched"));
        }
        if !(value > 0.0 && value.is_finite()) {
            return refused(format!(
                "{value} at step {step} is not positive and finite: skip the step instead"
            ));
        }
        self.measured.push(Measured { step, log: value.ln() });
        Ok(())
    }

    /// Excludes a step that cannot be built or run.
    pub fn skip(&mut self, step: usize) {
        self.skipped.insert(step);
    }

    /// The probabilities after the measurements so far.
    pub fn posterior(&self) -> Posterior {
        let evidence = Evidence::new(&self.measured, self.steps, self.settings.drift);
        let prior = self.settings.no_change_prior;
        let each = ((1.0 - prior) / (self.steps - 1) as f64).ln();
        let no_change = prior.ln() + evidence.log_likelihood(None);
        let changed = (1..self.steps).map(|step| each + evidence.log_likelihood(Some(step)));
        let logs: Vec<f64> = std::iter::once(no_change).chain(changed).collect();
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut weights: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= sum);
        let no_change = std::mem::replace(&mut weights[0], 0.0);
        Posterior { first_changed: weights, no_change }
    }

    /// The conclusion at the requested confidence.
    pub fn conclusion(&self) -> Conclusion {
        self.conclude(&self.posterior())
    }

    fn conclude(&self, posterior: &Posterior) -> Conclusion {
        if posterior.no_change >= self.settings.confidence {
            return Conclusion::NoChange;
        }
        // A skipped step cannot be distinguished from the next one.
        let mut first = 1;
        let mut together = 0.0;
        for step in 1..self.steps {
            together += posterior.first_changed[step];
            if self.skipped.contains(&step) && step + 1 < self.steps {
                continue;
            }
            if together >= self.settings.confidence {
                return Conclusion::Changed(first..=step);
            }
            (first, together) = (step + 1, 0.0);
        }
        Conclusion::Undecided
    }

    /// The end measured less often; ties go to the latest one: first, last, last, first.
    fn end(&self, first: usize, last: usize) -> usize {
        match self.count(first).cmp(&self.count(last)) {
            Ordering::Less => first,
            Ordering::Greater => last,
            Ordering::Equal => {
                let mut ends = self.measured.iter().rev().map(|measured| measured.step);
                ends.find(|step| *step == first || *step == last).unwrap_or(first)
            }
        }
    }

    fn count(&self, step: usize) -> usize {
        self.measured.iter().filter(|measured| measured.step == step).count()
    }
}

/// The usable step whose probability of having changed, if any did, is nearest to one half.
fn median(posterior: &Posterior, usable: &[usize]) -> usize {
    let change = 1.0 - posterior.no_change;
    let cumulative = posterior.first_changed.iter().scan(0.0, |sum, probability| {
        *sum += probability / change;
        Some((*sum - 0.5_f64).abs())
    });
    let distance: Vec<f64> = cumulative.collect();
    let nearest = usable.iter().min_by(|a, b| distance[**a].total_cmp(&distance[**b]));
    nearest.copied().unwrap_or(0)
}
