//! Contents that stand twice in a file: a joined or edited file would count measurements twice.

use std::collections::BTreeMap;

use crate::dataset::Refusal;
use crate::measurement::{ForeignTrial, MeasurementOutcome};

/// Copies of fewer digits, or of fewer trials, may be chance.
const LEAST_DIGITS: usize = 12;
const LEAST_TRIALS: usize = 3;
const HOW: &str = "it would count measurements twice; remove the copy, or take it with \
     --allow-repeats";

/// The values of a trial, exactly.
type Bits<'a> = Vec<(&'a str, Option<&'a str>, Vec<u64>)>;

fn bits(trial: &ForeignTrial) -> Bits<'_> {
    let values = trial.measurements.iter().filter_map(|one| match &one.outcome {
        MeasurementOutcome::Values(values) => {
            let bits = values.iter().map(|it| it.value.to_bits()).collect();
            Some((one.response.as_str(), one.part.as_deref(), bits))
        }
        MeasurementOutcome::Failed(_) => None,
    });
    values.collect()
}

/// How many digits of trials were printed, about.
fn digits<'a>(trials: impl IntoIterator<Item = &'a ForeignTrial>) -> usize {
    let of_trial = |trial: &ForeignTrial| -> usize {
        let values = bits(trial).into_iter().flat_map(|(.., values)| values);
        let of_value = |bits: u64| {
            let text = f64::from_bits(bits).to_string();
            text.trim_end_matches('0').chars().filter(char::is_ascii_digit).count()
        };
        values.map(of_value).sum()
    };
    trials.into_iter().map(of_trial).sum()
}

/// Refuses trials of which the second half repeats the first, or of which every one of some work
/// stands there equally often.
pub(super) fn refuse(trials: &[ForeignTrial]) -> Result<(), Refusal> {
    let (first, second) = trials.split_at(trials.len() / 2);
    let is_same = |one: &ForeignTrial, other: &ForeignTrial| {
        one.identity == other.identity && bits(one) == bits(other)
    };
    let halves = trials.len().is_multiple_of(2)
        && first.iter().zip(second).all(|(one, other)| is_same(one, other))
        && digits(first) >= LEAST_DIGITS;
    if let (true, Some(begin)) = (halves, second.first()) {
        let begin = &begin.name;
        return Err(Refusal::whole(format!(
            "from {begin:?} on, the file repeats its first half value for value: {HOW}"
        )));
    }
    let mut works: BTreeMap<&BTreeMap<String, String>, Vec<&ForeignTrial>> = BTreeMap::new();
    for trial in trials {
        works.entry(&trial.identity).or_default().push(trial);
    }
    for (identity, trials) in works {
        let mut counts: BTreeMap<Bits, (usize, &ForeignTrial)> = BTreeMap::new();
        for trial in &trials {
            let values = bits(trial);
            if !values.is_empty() {
                counts.entry(values).or_insert((0, trial)).0 += 1;
            }
        }
        let often = counts.values().next().map_or(0, |(count, _)| *count);
        let copied = often > 1
            && counts.len() >= LEAST_TRIALS
            && counts.values().all(|(count, _)| *count == often)
            && digits(counts.values().map(|(_, trial)| *trial)) >= LEAST_DIGITS;
        if copied {
            let names: Vec<&str> = identity.values().map(String::as_str).collect();
            return Err(Refusal::whole(format!(
                "every trial of {:?} stands there {often} times, value for value: {HOW}",
                names.join(", ")
            )));
        }
    }
    Ok(())
}
