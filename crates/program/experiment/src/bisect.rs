//! The driver of a bisection: the step of an axis at which something changed.

mod command;
mod kernels;
mod levels;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use analysis::are_apart;
use analysis::bisect::{
    Axis, BisectError, BisectResult, Measured, Target, bisect_exactly, bisect_noisily,
    verdicts_needed,
};
use stats::NoisySettings;

use crate::driver::Driver;
use crate::error::{ExperimentError, Result};
use crate::event::Event;

pub use command::CommandSteps;
pub use kernels::{KernelSteps, StepsOfKernels};
pub use levels::{LevelSteps, StepsOfPlan};

/// Steps that halving finds so soon that profiles of the ends would not pay.
const FEW_STEPS: usize = 8;

/// An axis with steps that can be measured.
pub trait Steps {
    /// What is measured, and along which axis.
    fn axis(&self) -> Axis;

    /// Whether measurements of a step repeat exactly.
    fn is_exact(&self) -> bool;

    /// What the search looks for.
    fn target(&self) -> Target {
        Target::Change
    }

    /// Earlier measurements in time order: step and value.
    fn at_hand(&self) -> Result<Vec<(usize, f64)>> {
        Ok(Vec::new())
    }

    /// Also looks for failures from here on, where that was not requested and is cheap.
    fn seek_failures(&mut self) -> bool {
        false
    }

    /// The first run file of a measured step, if its subject makes the same run again.
    fn repeatable_run(&self, _step: usize) -> Option<PathBuf> {
        None
    }

    /// Whether steps differ in code, so that functions say which of them are likely.
    fn has_code(&self) -> bool {
        false
    }

    /// How likely each step changed what is measured, from how much of the difference between the ends
    /// is in which functions; empty if unknown.
    fn likely(&self, _functions: &[(String, f64)]) -> Result<Vec<f64>> {
        Ok(Vec::new())
    }

    /// Measures a step. An error ends the search.
    fn measure(&mut self, step: usize, driver: &mut Driver<'_>) -> Result<Measured>;

    /// Checks that the change of a step is the cause, where its change can be taken alone: what is
    /// measured without it at the end, or with nothing else.
    fn check(
        &mut self,
        _found: &BisectResult,
        _step: usize,
        _driver: &mut Driver<'_>,
    ) -> Result<Vec<Check>> {
        Ok(Vec::new())
    }
}

/// What was measured to check an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What was measured, as part of a sentence: `mm-fix.patch left out of all`.
    pub what: String,
    /// Whether it is like the last step, where the question has an answer.
    pub is_like_last: Result<bool, String>,
    /// Whether the answer is right if it is like the last step.
    pub expects_last: bool,
}

/// A search along an axis.
pub struct Bisection<'s> {
    /// The axis.
    pub steps: Box<dyn Steps + 's>,
    /// How a noisy one is searched.
    settings: NoisySettings,
    /// The ends that were measured before the search.
    ends: BTreeMap<usize, Measured>,
    /// How likely each step is; empty if they are alike.
    weights: Vec<f64>,
}

impl<'s> Bisection<'s> {
    /// A search along these steps.
    pub fn new(steps: Box<dyn Steps + 's>, settings: NoisySettings) -> Self {
        Self { steps, settings, ends: BTreeMap::new(), weights: Vec::new() }
    }

    /// Measures the ends of exact steps that are many and differ in code, and returns a run of each
    /// end if their values differ: the functions that differ in them say where to search first
    /// ([`Self::expect`]). Fails as a measurement does.
    pub fn compare_ends(&mut self, driver: &mut Driver<'_>) -> Result<Option<[PathBuf; 2]>> {
        let last = self.steps.axis().steps.len().saturating_sub(1);
        let is_worth_it = last >= FEW_STEPS && self.steps.is_exact() && self.steps.has_code();
        if !is_worth_it || self.steps.target() == Target::Failure {
            return Ok(None);
        }
        for step in [0, last] {
            let measured = self.steps.measure(step, driver)?;
            self.ends.insert(step, measured);
        }
        let differ = match (&self.ends[&0], &self.ends[&last]) {
            (Measured::Values(first), Measured::Values(last)) => are_apart(first, last),
            _ => false,
        };
        let run = |step| self.steps.repeatable_run(step).filter(|_| differ);
        Ok(run(0).zip(run(last)).map(<[PathBuf; 2]>::from))
    }

    /// Searches first where these functions were changed: each with its part of the difference between
    /// the ends. Fails when the changes cannot be read.
    pub fn expect(&mut self, functions: &[(String, f64)]) -> Result<()> {
        self.weights = self.steps.likely(functions)?;
        Ok(())
    }

    /// Finds the step. Fails when an end cannot be measured, there is no answer, or the user
    /// stopped it.
    pub fn run(&mut self, driver: &mut Driver<'_>) -> Result<BisectResult> {
        let axis = self.steps.axis();
        let mut found = self.search(&axis, driver);
        let is_alike = match &found {
            Ok(found) => found.changed.is_none(),
            Err(error) => matches!(error, BisectError::EndsAlike { .. }),
        };
        if is_alike && self.steps.seek_failures() {
            driver.note("no change between the ends; checking every step for a run that fails");
            let failing = self.search(&axis, driver);
            // Without failures, the measurements of the ends remain the answer.
            if !failing.as_ref().is_ok_and(|found| found.changed.is_none()) {
                found = failing;
            }
        }
        found.map_err(|error| match error {
            _ if driver.waiter.stop_requested() => ExperimentError::Interrupted,
            BisectError::Measurement(error) => error,
            BisectError::TooFew => ExperimentError::WrongUse(error.to_string()),
            BisectError::End(step, why) => ExperimentError::NotMeasured(format!(
                "{} {}, an end of the axis, cannot be measured: {why}",
                axis.name, axis.steps[step]
            )),
            other => ExperimentError::NotMeasured(other.to_string()),
        })
    }

    fn search(
        &mut self,
        axis: &Axis,
        driver: &mut Driver<'_>,
    ) -> Result<BisectResult, BisectError<ExperimentError>> {
        let Self { steps, settings, ends, weights } = self;
        let (count, target) = (axis.steps.len(), steps.target());
        // Failures are taken as certain on any machine.
        if steps.is_exact() || target == Target::Failure {
            let verdicts = verdicts_needed(settings.confidence);
            return bisect_exactly(count, target, verdicts, weights, &mut |step| match ends
                .remove(&step)
            {
                Some(measured) => Ok(measured),
                None => steps.measure(step, driver),
            });
        }
        let at_hand = steps.at_hand().map_err(BisectError::Measurement)?;
        if !at_hand.is_empty() {
            driver.note(&format!("{} measurements already exist", at_hand.len()));
        }
        let driver = RefCell::new(driver);
        bisect_noisily(
            count,
            *settings,
            &at_hand,
            &mut |step| steps.measure(step, &mut driver.borrow_mut()),
            &mut |posterior| {
                let (axis, steps) = (axis.name.as_str(), &axis.steps[..]);
                let (first_changed, no_change) =
                    (&posterior.first_changed[..], posterior.no_change);
                let event = Event::Likely { axis, steps, first_changed, no_change };
                (driver.borrow_mut().on_event)(&event);
            },
        )
    }
}
