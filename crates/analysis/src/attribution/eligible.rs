//! Which trials an attribution can use, and what goes with those that it cannot.

use std::collections::{BTreeMap, BTreeSet};

use stats::bounded_median;

use crate::{Dataset, Standing, Trial};

/// A combination of the levels of all factors that were varied, in their order.
type Combination<'a> = Vec<&'a str>;

/// The trials that count, and a note for each that does not and for each level that goes with it.
///
/// A fit needs every combination of the levels that it has. Where all trials of a combination
/// failed, or are known by a lower bound only, a level is given up: that which takes most such
/// combinations with it, of equal ones a level of the factor with the most.
///
/// `asked` are the factors that are looked at, of those that were varied; without any, all of them.
pub(super) fn eligible_trials<'a>(
    dataset: &'a Dataset,
    response: &str,
    asked: &[String],
) -> (Vec<&'a Trial>, Vec<String>) {
    let mut notes = Vec::new();
    let (mut usable, mut lost) = (Vec::new(), Vec::new());
    let mut parts = parts_of(&dataset.trials.iter().collect::<Vec<_>>(), response);
    parts.retain(|_| additive(dataset, response));
    for trial in &dataset.trials {
        match why_not(trial, response, &parts) {
            Some(reason) => {
                notes.push(format!("{} is left out: {reason}", trial.name));
                lost.push(trial);
            }
            None => {
                notes.extend(trial.problem.as_ref().map(|it| format!("{}: {it}", trial.name)));
                usable.push(trial);
            }
        }
    }
    let varied: Vec<&str> = dataset
        .factors
        .iter()
        .filter(|factor| factor.levels.len() > 1)
        .filter(|factor| asked.is_empty() || asked.contains(&factor.name))
        .map(|factor| factor.name.as_str())
        .collect();
    loop {
        let of = |trials: &[&'a Trial]| -> BTreeSet<Combination<'a>> {
            trials.iter().filter_map(|trial| combination(trial, &varied)).collect()
        };
        let measured = of(&usable);
        let missing = &of(&lost) - &measured;
        let Some((factor, level)) = most_missing(&missing, &measured) else { break };
        notes.push(format!(
            "{} {level} is left out: not every combination with it has a trial that counts",
            varied[factor]
        ));
        let level = level.to_owned();
        let keeps = |trial: &&Trial| trial.levels.get(varied[factor]) != Some(&level);
        usable.retain(keeps);
        lost.retain(keeps);
    }
    (usable, notes)
}

/// Why a trial does not count; `parts` are those that add up to the response, if any do.
fn why_not(trial: &Trial, response: &str, parts: &[String]) -> Option<String> {
    if trial.standing() != Standing::Counts {
        return trial.remark();
    }
    let ending = trial.ending.as_ref().and_then(crate::Ending::text);
    let Some(whole) = trial.samples(None, response).and_then(bounded_median) else {
        // A run that did not end well lacks what it had not done; of others it was not published,
        // and the parts say what they can.
        let ending = ending?;
        let has = |part: &String| trial.samples(Some(part), response).is_some();
        let is_lost = parts.is_empty() || !parts.iter().all(has);
        return is_lost.then(|| format!("it has no {response} ({ending})"));
    };
    whole.is_lower_bound.then(|| {
        let ending = ending.map_or_else(String::new, |text| format!(" ({text})"));
        format!("its {response} is only known to be at least {}{ending}", whole.value)
    })
}

fn combination<'a>(trial: &'a Trial, factors: &[&str]) -> Option<Combination<'a>> {
    factors.iter().map(|factor| trial.levels.get(*factor).map(String::as_str)).collect()
}

/// The factor and level that take most missing combinations with them; `None` if that is no help.
fn most_missing<'a>(
    missing: &BTreeSet<Combination<'a>>,
    measured: &BTreeSet<Combination<'a>>,
) -> Option<(usize, &'a str)> {
    let mut counts: BTreeMap<(usize, &'a str), usize> = BTreeMap::new();
    for combination in missing {
        for (factor, level) in combination.iter().enumerate() {
            *counts.entry((factor, level)).or_insert(0) += 1;
        }
    }
    let levels = |factor: usize| {
        let all = missing.iter().chain(measured).map(|combination| combination[factor]);
        all.collect::<BTreeSet<&str>>().len()
    };
    let is_left = |factor: usize, level: &str| measured.iter().any(|it| it[factor] != level);
    let most = counts.into_iter().filter(|((factor, level), _)| is_left(*factor, level));
    most.max_by_key(|((factor, _), count)| (*count, levels(*factor))).map(|(key, _)| key)
}

/// Whether values of a response add up over its parts.
pub(super) fn additive(dataset: &Dataset, response: &str) -> bool {
    dataset.responses.get(response).is_some_and(|found| found.additive)
}

/// The parts that values of a response have, in the order in which they first occur.
pub(super) fn parts_of(trials: &[&Trial], response: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for values in trials.iter().flat_map(|trial| &trial.values) {
        if let Some(part) = values.part.as_ref().filter(|_| values.response == response)
            && !parts.contains(part)
        {
            parts.push(part.clone());
        }
    }
    parts
}
