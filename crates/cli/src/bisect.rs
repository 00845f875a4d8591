//! `thrashlab bisect`: the step of an axis at which something changed.

mod command;
mod levels;

use std::cell::RefCell;

use agent::Waiter;
use analysis::bisect::{
    BisectError, Found, Measured, Stopped, Target, bisect_exactly, bisect_noisily,
};
use anyhow::{Context, anyhow};
use report::Axis;
use stats::{NoisySettings, Posterior};

use crate::bisect_args::BisectArgs;
use crate::progress::Progress;
use crate::{Failure, print, print_json};

use command::CommandSteps;
use levels::PlanSteps;

/// An axis whose steps can be measured.
trait Steps {
    /// What is measured along what.
    fn axis(&self) -> Axis;
    /// Whether a step gives the same again and again.
    fn is_exact(&self) -> bool;
    /// What is looked for.
    fn target(&self) -> Target;
    /// Measurements that were made before, in the order of time: step and value.
    fn at_hand(&self) -> Result<Vec<(usize, f64)>, Failure>;
    /// Looks for failures from here on, where that was not asked for and costs little.
    fn seek_failures(&mut self) -> bool {
        false
    }
    /// Measures a step.
    fn measure(&mut self, step: usize, progress: &mut Progress) -> Result<Measured, Failure>;
}

/// Finds the step and prints it.
pub(crate) fn bisect(args: &BisectArgs) -> Result<(), Failure> {
    // Caught from here on, so that Ctrl-C never leaves anything behind.
    let waiter = Waiter::new().context("catch signals")?;
    let mut progress = Progress::new(args.quiet);
    let mut steps: Box<dyn Steps + '_> = match &args.run {
        Some(command) => Box::new(CommandSteps::new(args, command, &waiter)?),
        None => Box::new(PlanSteps::new(args, &waiter)?),
    };
    let axis = steps.axis();
    let mut found = search(args, steps.as_mut(), &axis, &mut progress);
    let is_alike = match &found {
        Ok(found) => found.changed.is_none(),
        Err(error) => matches!(error, Stopped::Search(BisectError::EndsAlike { .. })),
    };
    if is_alike && steps.seek_failures() {
        progress.say("no change between the ends; checking every step for a run that fails");
        let failing = search(args, steps.as_mut(), &axis, &mut progress);
        // What was measured of the ends stays the answer where nothing fails.
        if !failing.as_ref().is_ok_and(|found| found.changed.is_none()) {
            found = failing;
        }
    }
    progress.finish();
    let found = found.map_err(|error| failure(error, &axis, &waiter))?;
    if args.json {
        print_json(&as_json(&found, &axis))?;
    } else {
        print(&report::bisect_text(&found, &axis))?;
    }
    match found.changed {
        Some(_) => Ok(()),
        None => Err(Failure::NotSo),
    }
}

fn search(
    args: &BisectArgs,
    steps: &mut dyn Steps,
    axis: &Axis,
    progress: &mut Progress,
) -> Result<Found, Stopped<Failure>> {
    let count = axis.steps.len();
    let target = steps.target();
    // That a step fails is taken for certain on any machine.
    if steps.is_exact() || target == Target::Failure {
        return bisect_exactly(count, target, &mut |step| steps.measure(step, progress));
    }
    let settings = NoisySettings {
        confidence: args.confidence,
        budget: args.budget,
        drift: !args.no_drift,
        ..NoisySettings::default()
    };
    let at_hand = steps.at_hand().map_err(Stopped::Measurement)?;
    if !at_hand.is_empty() {
        progress.say(&format!("{} measurements are there already", at_hand.len()));
    }
    // Said before the next measurement: the progress is busy during one.
    let likely = RefCell::new(None::<String>);
    bisect_noisily(
        count,
        settings,
        &at_hand,
        &mut |step| {
            if let Some(text) = likely.take() {
                progress.say(&text);
            }
            steps.measure(step, progress)
        },
        &mut |posterior| *likely.borrow_mut() = Some(most_likely(posterior, axis)),
    )
}

/// The most likely step in words.
fn most_likely(posterior: &Posterior, axis: &Axis) -> String {
    let steps = posterior.first_changed.iter().copied().enumerate();
    let best = steps.max_by(|(_, one), (_, other)| one.total_cmp(other));
    match best {
        Some((step, probability)) if probability > posterior.no_change => format!(
            "{} {} is the most likely first changed one: {:.0} %",
            axis.name,
            axis.steps[step],
            100.0 * probability
        ),
        _ => format!("no change is the most likely: {:.0} %", 100.0 * posterior.no_change),
    }
}

fn failure(error: Stopped<Failure>, axis: &Axis, waiter: &Waiter) -> Failure {
    if waiter.stop_requested() {
        return Failure::Interrupted;
    }
    let error = match error {
        Stopped::Measurement(failure) => return failure,
        Stopped::Search(error) => error,
    };
    match error {
        BisectError::TooFew => Failure::WrongUse(error.into()),
        BisectError::End { step, why } => Failure::NotMeasured(anyhow!(
            "{} {}, an end of the axis, cannot be measured: {why}",
            axis.name,
            axis.steps[step]
        )),
        other => Failure::NotMeasured(other.into()),
    }
}

fn as_json(found: &Found, axis: &Axis) -> serde_json::Value {
    let name = |step: usize| axis.steps[step].as_str();
    let values: Vec<_> = found
        .values
        .iter()
        .map(|(step, values)| serde_json::json!({"step": name(*step), "values": values}))
        .collect();
    let skipped: Vec<_> = found
        .skipped
        .iter()
        .map(|(step, why)| serde_json::json!({"step": name(*step), "reason": why}))
        .collect();
    let posterior = found.posterior.as_ref().map(|posterior| {
        serde_json::json!({
            "first_changed": posterior.first_changed,
            "no_change": posterior.no_change,
        })
    });
    let failed: Vec<_> = found
        .failed
        .iter()
        .map(|(step, why)| serde_json::json!({"step": name(*step), "reason": why}))
        .collect();
    serde_json::json!({
        "axis": axis.name,
        "steps": axis.steps,
        "response": axis.response,
        "first_changed": found.changed.map(|(first, last)| [name(first), name(last)]),
        "no_change": found.no_change,
        "measurements": found.measurements,
        "posterior": posterior,
        "skipped": skipped,
        "by_outcome": found.by_outcome,
        "failed": failed,
        "measured": values,
    })
}
