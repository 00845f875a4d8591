//! What a bisection found, as text.

use std::collections::BTreeMap;

use analysis::bisect::{Axis, Found};
use stats::{Posterior, mean};

use crate::columns::aligned;
use crate::experiment_text::figure;

/// Most steps whose probabilities are shown.
const MOST_SHOWN: usize = 10;
/// Smallest probability that is shown.
const LEAST_SHOWN: f64 = 0.005;
/// Width of a bar of probability 1, in characters.
const BAR: usize = 40;

/// The steps that were measured with their means, the probabilities of a noisy search, what could
/// not be built, and the sentence that says what was found. Ends in a newline.
#[must_use]
pub fn bisect_text(found: &Found, axis: &Axis) -> String {
    let mut text = measured(found, axis);
    if let Some(posterior) = &found.posterior {
        text += &format!("\n{}", probabilities(posterior, axis));
    }
    for (step, why) in &found.skipped {
        text += &format!("\nskipped: {} {}: {why}\n", axis.name, axis.steps[*step]);
    }
    for (step, why) in &found.failed {
        text += &format!("\nfailed: {} {}: {why}\n", axis.name, axis.steps[*step]);
    }
    text + &format!("\n{}\n", sentence(found, axis))
}

/// All values of each step, in the order of the axis.
fn by_step(found: &Found) -> BTreeMap<usize, Vec<f64>> {
    let mut steps: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (step, values) in &found.values {
        steps.entry(*step).or_default().extend(values);
    }
    steps
}

fn measured(found: &Found, axis: &Axis) -> String {
    if found.by_outcome {
        return String::new();
    }
    let heading = [axis.name.as_str(), "values", "mean", "least", "most"].map(str::to_owned);
    let mut rows = vec![heading.to_vec()];
    for (step, values) in by_step(found) {
        let Some(mean) = mean(&values) else { continue };
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        rows.push(vec![
            axis.steps[step].clone(),
            values.len().to_string(),
            figure(mean),
            figure(least),
            figure(most),
        ]);
    }
    match rows.len() {
        1 => String::new(),
        _ => format!("{}\n{}", axis.response, aligned(&rows)),
    }
}

fn probabilities(posterior: &Posterior, axis: &Axis) -> String {
    let steps = posterior.first_changed.iter().copied().enumerate();
    let mut likely: Vec<(usize, f64)> =
        steps.filter(|(_, probability)| *probability >= LEAST_SHOWN).collect();
    likely.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    likely.truncate(MOST_SHOWN);
    likely.sort_by_key(|(step, _)| *step);
    let row = |name: &str, probability: f64| {
        let bar = "#".repeat((probability * BAR as f64).round() as usize);
        vec![name.to_owned(), format!("{:.1} %", 100.0 * probability), bar]
    };
    let mut rows = vec![vec![format!("first changed {}", axis.name), "probability".to_owned()]];
    rows.extend(likely.iter().map(|(step, probability)| row(&axis.steps[*step], *probability)));
    rows.push(row("none", posterior.no_change));
    aligned(&rows)
}

/// Which step is the first that fails.
fn outcome_sentence(found: &Found, axis: &Axis, of: &str) -> String {
    let Axis { name, steps, .. } = axis;
    let Some((first, last)) = found.changed else {
        return format!("No step of {name} fails ({of}).");
    };
    let before = &steps[first - 1];
    let end = steps.len() - 1;
    let has_failed = |step: usize| found.failed.iter().any(|(failed, _)| *failed == step);
    let alive = match last < end && !has_failed(end) {
        true => format!("; {}, the last one, does not fail", steps[end]),
        false => String::new(),
    };
    match first == last {
        true => format!(
            "{name} {} is the first that fails, after {before} ({of}){alive}.",
            steps[first]
        ),
        false => format!(
            "One of {name} {} to {} is the first that fails, after {before} ({of}); those between \
             could not be measured{alive}.",
            steps[first], steps[last]
        ),
    }
}

fn sentence(found: &Found, axis: &Axis) -> String {
    let Axis { name, steps, response } = axis;
    let count = found.measurements;
    let of = format!("{count} measurements of {} steps", steps.len());
    if found.by_outcome {
        return outcome_sentence(found, axis, &of);
    }
    let Some((first, last)) = found.changed else {
        return match found.no_change {
            true => format!("Nothing changed along {name} ({of})."),
            false => format!("It cannot be told where {name} changed ({of}); allow more of them."),
        };
    };
    let certainty = match &found.posterior {
        None => "exactly".to_owned(),
        Some(posterior) => {
            let sum: f64 = posterior.first_changed[first..=last].iter().sum();
            format!("probability {:.1} %", 100.0 * sum)
        }
    };
    let change = change(found, first, last).map_or_else(String::new, |(before, after)| {
        let ratio = after / before;
        format!(": {response} {} to {} ({ratio:.3} times)", figure(before), figure(after))
    });
    if first == last {
        let before = &steps[first - 1];
        return format!(
            "{name} {} is the first changed one, after {before} ({certainty}, {of}){change}.",
            steps[first]
        );
    }
    format!(
        "One of {name} {} to {} is the first changed one ({certainty}, {of}); those between could \
         not be measured{change}.",
        steps[first], steps[last]
    )
}

/// Mean of all values before the change, and after it.
fn change(found: &Found, first: usize, last: usize) -> Option<(f64, f64)> {
    let steps = by_step(found);
    let of = |wanted: &dyn Fn(usize) -> bool| {
        let values: Vec<f64> = steps
            .iter()
            .filter(|(step, _)| wanted(**step))
            .flat_map(|(_, values)| values.iter().copied())
            .collect();
        mean(&values)
    };
    Some((of(&|step| step < first)?, of(&|step| step >= last)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis() -> Axis {
        Axis {
            name: "compiler".to_owned(),
            steps: (1..=20).map(|step| step.to_string()).collect(),
            response: "faults".to_owned(),
        }
    }

    fn found() -> Found {
        Found {
            changed: Some((12, 12)),
            no_change: false,
            posterior: None,
            measurements: 4,
            skipped: vec![(9, "it does not build".to_owned())],
            failed: Vec::new(),
            by_outcome: false,
            values: vec![
                (0, vec![4382.0, 4390.0]),
                (19, vec![4946.0, 4962.0]),
                (11, vec![4385.0, 4391.0]),
                (12, vec![4940.0, 4950.0]),
            ],
        }
    }

    #[test]
    fn an_exact_answer_is_one_step() {
        insta::assert_snapshot!(bisect_text(&found(), &axis()), @r"
        faults
        compiler  values  mean  least  most
               1       2  4386   4382  4390
              12       2  4388   4385  4391
              13       2  4945   4940  4950
              20       2  4954   4946  4962

        skipped: compiler 10: it does not build

        compiler 13 is the first changed one, after 12 (exactly, 4 measurements of 20 steps): faults 4387 to 4950 (1.128 times).
        ");
    }

    #[test]
    fn a_noisy_answer_shows_its_probabilities() {
        let mut first_changed = vec![0.001; 20];
        first_changed[12] = 0.96;
        first_changed[13] = 0.02;
        let posterior = Some(Posterior { first_changed, no_change: 0.003 });
        let noisy = Found { posterior, skipped: Vec::new(), ..found() };
        insta::assert_snapshot!(bisect_text(&noisy, &axis()), @r"
        faults
        compiler  values  mean  least  most
               1       2  4386   4382  4390
              12       2  4388   4385  4391
              13       2  4945   4940  4950
              20       2  4954   4946  4962

        first changed compiler  probability
        13                      96.0 %       ######################################
        14                      2.0 %        #
        none                    0.3 %

        compiler 13 is the first changed one, after 12 (probability 96.0 %, 4 measurements of 20 steps): faults 4387 to 4950 (1.128 times).
        ");
        let undecided = Found { changed: None, ..noisy };
        assert!(bisect_text(&undecided, &axis()).contains("cannot be told where compiler changed"));
    }
}
