//! The result of a bisection.

use std::collections::BTreeMap;

use analysis::bisect::{Axis, BisectResult};
use itertools::Itertools;
use render::{Block, Cell, Document, Table, Tone, Verdict, format};
use stats::{Posterior, mean};

const MOST_SHOWN: usize = 10;
const LEAST_SHOWN: f64 = 0.005;
/// Bar width for probability 1, in characters.
const BAR: usize = 40;

/// The changed step, measurements, probabilities if the search was noisy, and unbuildable steps.
pub fn bisect_document(found: &BisectResult, axis: &Axis) -> Document<'static> {
    let mut steps: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (step, values) in &found.values {
        steps.entry(*step).or_default().extend(values);
    }
    let verdict = Verdict { text: sentence(found, axis, &steps), tone: Tone::Plain };
    let mut document = Document { verdicts: vec![verdict], ..Document::default() };
    if !found.by_outcome && !steps.is_empty() {
        document.push(measured(&steps, axis));
    }
    document.blocks.extend(found.posterior.iter().map(|it| probabilities(it, axis).into()));
    let of = |what: &'static str, steps: &[(usize, String)]| {
        let line = |(step, why): &(usize, String)| {
            format!("{what}: {} {}: {why}", axis.name, axis.steps[*step])
        };
        steps.iter().map(line).collect::<Vec<_>>()
    };
    let lost = [of("skipped", &found.skipped), of("failed", &found.failed)].concat();
    document.push(Block::Notes(lost));
    document
}

fn measured(steps: &BTreeMap<usize, Vec<f64>>, axis: &Axis) -> Table {
    let rows = steps.iter().map(|(step, values)| {
        let [least, most] = [f64::min, f64::max].map(|end| values.iter().copied().reduce(end));
        let figures = [mean(values), least, most].map(|it| Cell::figure(it.map(format::number)));
        [Cell::parsed(&axis.steps[*step]), values.len().into()].into_iter().chain(figures)
    });
    Table::of(&axis.response, [axis.name.as_str(), "values", "mean", "least", "most"], rows)
}

fn probabilities(posterior: &Posterior, axis: &Axis) -> Table {
    let steps = posterior.first_changed.iter().copied().enumerate();
    let likely = steps.filter(|(_, probability)| *probability >= LEAST_SHOWN);
    let likely = likely.sorted_by(|(_, one), (_, other)| other.total_cmp(one)).take(MOST_SHOWN);
    let likely = likely.sorted_by_key(|(step, _)| *step);
    let likely = likely.map(|(step, it)| (axis.steps[step].as_str(), it));
    let rows = likely.chain([("none", posterior.no_change)]).map(|(name, probability)| {
        let bar = "#".repeat((probability * BAR as f64).round() as usize);
        [name.into(), Cell::figure(format!("{:.1} %", 100.0 * probability)), bar.into()]
    });
    Table::of("", [format!("first changed {}", axis.name), "probability".into(), "".into()], rows)
}

fn sentence(found: &BisectResult, axis: &Axis, values: &BTreeMap<usize, Vec<f64>>) -> String {
    let Axis { name, steps, response } = axis;
    let of = format!("{} measurements of {} steps", found.measurements, steps.len());
    if let Some(step) = found.contradicted {
        return format!(
            "It is unclear where {name} changed: {} was judged good and bad ({of}). Let the command \
             repeat what it tests, or print a measurement instead of a verdict.",
            steps[step]
        );
    }
    let of = match found.verdicts {
        Some(count) if found.changed.is_none() => {
            format!("{of}, the last one judged good {count} times")
        }
        _ => of,
    };
    let Some((first, last)) = found.changed else {
        return match (found.by_outcome, found.no_change) {
            (true, _) => format!("No step of {name} fails ({of})."),
            (_, true) => format!("Nothing changed along {name} ({of})."),
            _ => format!("It is unclear where {name} changed ({of}); allow more of them."),
        };
    };
    let (what, of, more) = match found.by_outcome {
        true if found.is_repair => ("the first that does not fail", of, String::new()),
        true => ("the first that fails", of, last_alive(found, axis, last)),
        false => {
            let certainty = match (&found.posterior, found.verdicts) {
                (Some(posterior), _) => {
                    let sum: f64 = posterior.first_changed[first..=last].iter().sum();
                    format!("probability {:.1} %", 100.0 * sum)
                }
                (None, Some(count)) => format!("both judged alike {count} times"),
                (None, None) => "exactly".to_owned(),
            };
            let change = change(values, first, last).map_or_else(String::new, |(before, after)| {
                let [from, to] = [before, after].map(format::number);
                format!(": {response} {from} to {to} ({:.3} times)", after / before)
            });
            ("the first changed one", format!("{certainty}, {of}"), change)
        }
    };
    let (before, one, other) = (&steps[first - 1], &steps[first], &steps[last]);
    match first == last {
        true => format!("{name} {one} is {what}, after {before} ({of}){more}."),
        false => format!(
            "One of {name} {one} to {other} is {what}, after {before} ({of}); those between could \
             not be measured{more}."
        ),
    }
}

/// A remark if the last step, unexpectedly, does not fail.
fn last_alive(found: &BisectResult, axis: &Axis, last: usize) -> String {
    let end = axis.steps.len() - 1;
    if last == end || found.failed.iter().any(|(failed, _)| *failed == end) {
        return String::new();
    }
    format!("; {}, the last one, does not fail", axis.steps[end])
}

fn change(steps: &BTreeMap<usize, Vec<f64>>, first: usize, last: usize) -> Option<(f64, f64)> {
    let before: Vec<f64> = steps.range(..first).flat_map(|(_, values)| values).copied().collect();
    let after: Vec<f64> = steps.range(last..).flat_map(|(_, values)| values).copied().collect();
    mean(&before).zip(mean(&after))
}

#[cfg(test)]
mod tests {
    use render::plain_text;

    use super::*;

    fn text(found: &BisectResult) -> String {
        plain_text(&bisect_document(found, &axis()))
    }

    fn axis() -> Axis {
        Axis {
            name: "compiler".to_owned(),
            steps: (1..=20).map(|step| step.to_string()).collect(),
            response: "faults".to_owned(),
        }
    }

    fn found() -> BisectResult {
        BisectResult {
            changed: Some((12, 12)),
            no_change: false,
            posterior: None,
            measurements: 4,
            skipped: vec![(9, "it does not build".to_owned())],
            failed: Vec::new(),
            by_outcome: false,
            is_repair: false,
            verdicts: None,
            contradicted: None,
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
        insta::assert_snapshot!(text(&found()), @r"
        compiler 13 is the first changed one, after 12 (exactly, 4 measurements of 20
        steps): faults 4387 to 4950 (1.128 times).

        faults
        compiler  values  mean  least  most
               1       2  4386   4382  4390
              12       2  4388   4385  4391
              13       2  4945   4940  4950
              20       2  4954   4946  4962

        skipped: compiler 10: it does not build
        ");
    }

    #[test]
    fn a_noisy_answer_shows_its_probabilities() {
        let mut first_changed = vec![0.001; 20];
        first_changed[12] = 0.96;
        first_changed[13] = 0.02;
        let posterior = Some(Posterior { first_changed, no_change: 0.003 });
        let noisy = BisectResult { posterior, skipped: Vec::new(), ..found() };
        insta::assert_snapshot!(text(&noisy), @r"
        compiler 13 is the first changed one, after 12 (probability 96.0 %, 4
        measurements of 20 steps): faults 4387 to 4950 (1.128 times).

        faults
        compiler  values  mean  least  most
               1       2  4386   4382  4390
              12       2  4388   4385  4391
              13       2  4945   4940  4950
              20       2  4954   4946  4962

        first changed compiler  probability
        13                           96.0 %  ######################################
        14                            2.0 %  #
        none                          0.3 %
        ");
        let undecided = BisectResult { changed: None, ..noisy };
        assert!(text(&undecided).contains("is unclear where compiler changed"));
    }
}
