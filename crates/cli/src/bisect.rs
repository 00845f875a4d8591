//! `thrashlab bisect`: the step of an axis at which something changed.

use analysis::bisect::{Axis, BisectResult};
use clap::Args;
use experiment::{Bisection, CommandSteps, LevelSteps, Steps, StepsOfPlan};
use profile::Difference;
use report::{bisect_document, difference_blocks};
use stats::NoisySettings;

use crate::by_function::difference_if_possible;
use crate::laboratory::{LabArgs, drive, failure};
use crate::output::{FormatArgs, show_in};
use crate::progress::Progress;
use crate::{Failure, Result};

const EXAMPLES: &str = "\
Examples:
  thrashlab bisect examples/planted-regression.toml
                        which level of the plan's factor caused the regression?
  thrashlab bisect plan.toml --git v6.11..v6.12 --repo ~/linux
                        commits, each built by the plan's `build`
  thrashlab bisect --range 1..128 --run './measure.sh {level}'
                        the last line that a command prints is its measurement
  thrashlab bisect --values a,b,c,d --run './is-it-bad.sh {level}' --exit-code
                        as `git bisect run`: 0 good, 125 skip, else bad

On a deterministic subject every step is measured once, the answer is exact, and
the functions of the kernel that account for the change are named.
Elsewhere each measurement changes the probabilities of all steps, until one of
them reaches 95 %. A step that cannot be built is skipped. What was measured
before is not measured again.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BisectArgs {
    #[command(flatten)]
    of_plan: StepsOfPlan,

    #[command(flatten)]
    of_command: CommandSteps,

    /// Confidence of the answer: the probability at which the search ends
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    confidence: f64,

    /// Maximum number of measurements; of a noisy search
    #[arg(long, value_name = "N", default_value_t = 100)]
    budget: usize,

    /// Assume that the machine does not drift: needs fewer measurements, and fails if it does drift
    #[arg(long)]
    no_drift: bool,

    #[command(flatten)]
    lab: LabArgs,

    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn bisect(args: &BisectArgs) -> Result<()> {
    let settings = NoisySettings {
        confidence: args.confidence,
        budget: args.budget,
        drift: !args.no_drift,
        ..NoisySettings::default()
    };
    let steps: Box<dyn Steps> = match &args.of_command.run {
        None => Box::new(LevelSteps::new(args.of_plan.clone()).map_err(failure)?),
        Some(_) => Box::new(args.of_command.clone().named().map_err(failure)?),
    };
    let mut bisection = Bisection { steps, settings };
    let mut progress = args.lab.progress()?;
    let found = drive(&args.lab.options, &mut progress, |driver| bisection.run(driver))?;
    let axis = bisection.steps.axis();
    let mut document = bisect_document(&found, &axis);
    let functions = functions(&bisection, &found, &progress)?;
    if let Some((names, difference)) = &functions {
        let names = [names[0].as_str(), names[1].as_str()];
        document.blocks.extend(difference_blocks(names, difference));
    }
    let difference = functions.map(|(_, difference)| difference);
    let document = document.with_json(|| as_json(&found, &axis, difference.as_ref()));
    show_in(&document, &args.format)?;
    match found.changed {
        Some(_) => Ok(()),
        None => Err(Failure::CheckFailed),
    }
}

/// Which functions account for the change between two neighbouring steps in deterministic machines,
/// with the names of the steps.
fn functions(
    bisection: &Bisection<'_>,
    found: &BisectResult,
    progress: &Progress,
) -> Result<Option<([String; 2], Difference)>> {
    let steps = match found.changed {
        Some((first, last)) if first == last && !found.by_outcome => [first - 1, last],
        _ => return Ok(None),
    };
    let runs = steps.map(|step| bisection.steps.repeatable_run(step));
    let [Some(before), Some(after)] = runs else { return Ok(None) };
    let difference = difference_if_possible(&[[before, after]], progress)?;
    let axis = bisection.steps.axis();
    let names = steps.map(|step| axis.steps[step].clone());
    Ok(difference.map(|difference| (names, difference)))
}

fn as_json(found: &BisectResult, axis: &Axis, functions: Option<&Difference>) -> serde_json::Value {
    let name = |step: usize| axis.steps[step].as_str();
    let with_reason = |steps: &[(usize, String)]| -> Vec<serde_json::Value> {
        let value =
            |(step, why): &(usize, String)| serde_json::json!({"step": name(*step), "reason": why});
        steps.iter().map(value).collect()
    };
    let value = |(step, values): &(usize, Vec<f64>)| serde_json::json!({"step": name(*step), "values": values});
    let measured: Vec<_> = found.values.iter().map(value).collect();
    let posterior = found.posterior.as_ref().map(|found| {
        serde_json::json!({"first_changed": found.first_changed, "no_change": found.no_change})
    });
    serde_json::json!({
        "axis": axis.name,
        "steps": axis.steps,
        "response": axis.response,
        "first_changed": found.changed.map(|(first, last)| [name(first), name(last)]),
        "no_change": found.no_change,
        "verdicts": found.verdicts,
        "contradicted": found.contradicted.map(name),
        "measurements": found.measurements,
        "posterior": posterior,
        "skipped": with_reason(&found.skipped),
        "by_outcome": found.by_outcome,
        "failed": with_reason(&found.failed),
        "measured": measured,
        "functions": functions,
    })
}
