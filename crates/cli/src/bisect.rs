//! `thrashlab bisect`: the step of an axis at which something changed.

use analysis::bisect::{Axis, Found};
use anyhow::anyhow;
use experiment::{Bisection, CommandSteps, LevelSteps, Steps, StepsOfPlan};
use stats::NoisySettings;

use crate::bisect_args::BisectArgs;
use crate::laboratory::{drive, failure};
use crate::{Failure, print, print_json};

/// Finds the step and prints it.
pub(crate) fn bisect(args: &BisectArgs) -> Result<(), Failure> {
    let settings = NoisySettings {
        confidence: args.confidence,
        budget: args.budget,
        drift: !args.no_drift,
        ..NoisySettings::default()
    };
    let mut bisection = Bisection { steps: steps(args)?, settings };
    let mut progress = args.lab.progress(args.quiet)?;
    let found = drive(&args.lab.options(), &mut progress, |driver| bisection.run(driver))?;
    let axis = bisection.steps.axis();
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

/// What is measured along what.
fn steps(args: &BisectArgs) -> Result<Box<dyn Steps>, Failure> {
    let wrong = |why: String| Failure::WrongUse(anyhow!(why));
    let Some(command) = &args.run else {
        let request = StepsOfPlan {
            path: args.plan.clone().unwrap_or_default(),
            factor: args.factor.clone(),
            response: args.response.clone(),
            part: args.part.clone(),
            commits: args.git.clone().map(|range| (range, args.repo.clone())),
            output: args.output.clone(),
        };
        return Ok(Box::new(LevelSteps::new(request).map_err(failure)?));
    };
    let names = match &args.range {
        Some(range) => CommandSteps::numbers(range).map_err(wrong)?,
        None => args.values.clone(),
    };
    if names.is_empty() {
        let why = "name the steps of --run with --values A,B,C or --range FIRST..LAST";
        return Err(wrong(why.to_owned()));
    }
    Ok(Box::new(CommandSteps {
        names,
        command: command.clone(),
        by_exit_code: args.exit_code,
        is_exact: args.exact,
    }))
}

fn as_json(found: &Found, axis: &Axis) -> serde_json::Value {
    let name = |step: usize| axis.steps[step].as_str();
    let with_reason = |steps: &[(usize, String)]| -> Vec<serde_json::Value> {
        let value =
            |(step, why): &(usize, String)| serde_json::json!({"step": name(*step), "reason": why});
        steps.iter().map(value).collect()
    };
    let value = |(step, values): &(usize, Vec<f64>)| serde_json::json!({"step": name(*step), "values": values});
    let measured: Vec<_> = found.values.iter().map(value).collect();
    let posterior = found.posterior.as_ref().map(|posterior| {
        serde_json::json!({
            "first_changed": posterior.first_changed,
            "no_change": posterior.no_change,
        })
    });
    serde_json::json!({
        "axis": axis.name,
        "steps": axis.steps,
        "response": axis.response,
        "first_changed": found.changed.map(|(first, last)| [name(first), name(last)]),
        "no_change": found.no_change,
        "measurements": found.measurements,
        "posterior": posterior,
        "skipped": with_reason(&found.skipped),
        "by_outcome": found.by_outcome,
        "failed": with_reason(&found.failed),
        "measured": measured,
    })
}
