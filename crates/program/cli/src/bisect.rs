//! `thrashlab bisect`: the step of an axis at which something changed.

use analysis::bisect::{Axis, BisectResult};
use clap::{ArgGroup, Args};
use experiment::{
    Bisection, Check, CommandSteps, Driver, ExperimentError, KernelSteps, LevelSteps, Steps,
    StepsOfKernels, StepsOfPlan,
};
use profile::Difference;
use report::{bisect_document, difference_blocks};
use stats::NoisySettings;

use crate::by_function::difference_if_possible;
use crate::laboratory::{LabArgs, drive};
use crate::output::{FormatArgs, show_in};
use crate::progress::Progress;
use crate::{Failure, Result};

/// The part of a difference from which a function says where to search.
const LEAST_PART: f64 = 0.02;

const USAGE: &str = "\
thrashlab bisect [OPTIONS] PLAN
       thrashlab bisect [OPTIONS] --run COMMAND --values A,B,C
       thrashlab bisect [OPTIONS] --kernel-git REPO GOOD..BAD [PLAN]
       thrashlab bisect [OPTIONS] --kernel-patches SOURCE SERIES [PLAN]
       thrashlab bisect [OPTIONS] --kernel-config A B [PLAN]";
const EXAMPLES: &str = "\
Examples:
  thrashlab bisect examples/planted-regression.toml
                        which level of the plan's factor caused the regression?
  thrashlab bisect plan.toml --git v6.11..v6.12 --repo ~/linux
                        commits, each built by the plan's `build`
  thrashlab bisect --range 1..128 --run './measure.sh {level}'
                        the last line that a command prints is its measurement
  thrashlab bisect --kernel-git ~/linux v6.11..v6.12 --set load=largewrite
                        commits of a kernel, each built as a guest needs it
  thrashlab bisect --kernel-patches linux-6.1 debian/patches --set probe=exec
                        the patch of a series; of another source, the file
  thrashlab bisect --kernel-config deb:linux-image-cloud-amd64 my.config
                        the option, or those that do it together
  thrashlab bisect --values a,b,c,d --run './is-it-bad.sh {level}' --exit-code
                        as `git bisect run`: 0 good, 125 skip, else bad

On a deterministic subject every step is measured once, the answer is exact, and
the functions of the kernel that account for the change are named.
Elsewhere each measurement changes the probabilities of all steps, until one of
them reaches 95 %. A step that cannot be built is skipped. What was measured
before is not measured again.";

#[derive(Args)]
#[command(
    override_usage = USAGE,
    after_help = EXAMPLES,
    group(
        ArgGroup::new("axis")
            .args(["plan", "run", "kernel_git", "kernel_patches", "kernel_config"])
            .multiple(true)
            .required(true)
    ),
)]
pub(crate) struct BisectArgs {
    #[command(flatten)]
    of_plan: StepsOfPlan,

    #[command(flatten)]
    of_command: CommandSteps,

    #[command(flatten)]
    of_kernels: StepsOfKernels,

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
    let mut progress = args.lab.progress()?;
    let (mut bisection, ends) = drive(&args.lab.options, &mut progress, |driver| {
        let mut bisection = Bisection::new(args.steps(driver)?, settings);
        let ends = bisection.compare_ends(driver)?;
        Ok((bisection, ends))
    })?;
    // The inner one is missing where what prevents it was said.
    let of_ends = ends.map(|ends| difference_if_possible(&[ends], &progress)).transpose()?;
    let (found, checks) = drive(&args.lab.options, &mut progress, |driver| {
        if let Some(Some(difference)) = &of_ends {
            expect(&mut bisection, difference, driver)?;
        }
        let found = bisection.run(driver)?;
        let checks = match single_step(&found) {
            Some(step) => bisection.steps.check(&found, step, driver)?,
            None => Vec::new(),
        };
        Ok((found, checks))
    })?;
    let axis = bisection.steps.axis();
    let mut document = bisect_document(&found, &axis);
    for check in &checks {
        document.push(sentence(check, &axis));
    }
    let functions = match of_ends {
        Some(None) => None,
        _ => functions(&bisection, &found, &progress)?,
    };
    if let Some((names, difference)) = &functions {
        let names = [names[0].as_str(), names[1].as_str()];
        document.blocks.extend(difference_blocks(names, difference));
    }
    let difference = functions.map(|(_, difference)| difference);
    let document = document.with_json(|| as_json(&found, &axis, &checks, difference.as_ref()));
    show_in(&document, &args.format)?;
    match found.changed {
        Some(_) => Ok(()),
        None => Err(Failure::CheckFailed),
    }
}

impl BisectArgs {
    fn steps(&self, driver: &mut Driver<'_>) -> Result<Box<dyn Steps>, ExperimentError> {
        let of_plan = self.of_plan.clone();
        Ok(match &self.of_command.run {
            Some(_) => Box::new(self.of_command.clone().named()?),
            None if self.of_kernels.is_requested() => {
                Box::new(KernelSteps::new(&self.of_kernels, of_plan, driver)?)
            }
            None => Box::new(LevelSteps::new(of_plan)?),
        })
    }
}

/// The changed step, if it is a single one.
fn single_step(found: &BisectResult) -> Option<usize> {
    found.changed.filter(|(first, last)| first == last).map(|(first, _)| first)
}

/// Lets a search begin where the functions that differ between its ends were changed.
fn expect(
    bisection: &mut Bisection<'_>,
    difference: &Difference,
    driver: &mut Driver<'_>,
) -> Result<(), ExperimentError> {
    let parts = difference.parts(LEAST_PART);
    if let Some((name, part)) = parts.first() {
        driver.note(&format!(
            "{:.0} % of what differs between the ends is in {name}: changes of such functions are \
             tried first",
            part * 100.0
        ));
    }
    bisection.expect(&parts)
}

/// What a check says of the answer.
fn sentence(check: &Check, axis: &Axis) -> String {
    let ends = [axis.steps.first(), axis.steps.last()].map(|it| it.map_or("", String::as_str));
    let what = &check.what;
    match &check.is_like_last {
        Err(why) => format!("Not checked with {what}: {why}."),
        Ok(is_like_last) => {
            let like = ends[usize::from(*is_like_last)];
            let meaning = match *is_like_last == check.expects_last {
                true => "which confirms it",
                false => "so other changes matter, too",
            };
            format!("Checked: {} {what} is like {like}, {meaning}.", axis.name)
        }
    }
}

/// Which functions account for the change between two neighbouring steps in deterministic machines,
/// with the names of the steps.
fn functions(
    bisection: &Bisection<'_>,
    found: &BisectResult,
    progress: &Progress,
) -> Result<Option<([String; 2], Difference)>> {
    let Some(step) = single_step(found).filter(|_| !found.by_outcome) else { return Ok(None) };
    let steps = [step - 1, step];
    let runs = steps.map(|step| bisection.steps.repeatable_run(step));
    let [Some(before), Some(after)] = runs else { return Ok(None) };
    let difference = difference_if_possible(&[[before, after]], progress)?;
    let axis = bisection.steps.axis();
    let names = steps.map(|step| axis.steps[step].clone());
    Ok(difference.map(|difference| (names, difference)))
}

fn as_json(
    found: &BisectResult,
    axis: &Axis,
    checks: &[Check],
    functions: Option<&Difference>,
) -> serde_json::Value {
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
    let checked = |check: &Check| match &check.is_like_last {
        Ok(is_like_last) => serde_json::json!({
            "what": check.what,
            "is_like_last": is_like_last,
            "confirms": *is_like_last == check.expects_last,
        }),
        Err(why) => serde_json::json!({"what": check.what, "reason": why}),
    };
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
        "is_repair": found.is_repair,
        "checks": checks.iter().map(checked).collect::<Vec<_>>(),
        "failed": with_reason(&found.failed),
        "measured": measured,
        "functions": functions,
    })
}
