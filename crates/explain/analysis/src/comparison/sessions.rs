//! Sessions: rows of one file of another program are repetitions within one of them.
//!
//! Repetitions of a session share a boot, a build and a state of the machine, so they predict
//! little about the next session. Where all arms have several sessions, a session counts by the
//! median of its repetitions. Otherwise the repetitions are compared, and the result is about
//! these sessions.

use std::collections::{BTreeMap, BTreeSet};

use super::arms::{ArmTrials, Arms};
use crate::{Dataset, Standing, Trial, Values};

/// What a conclusion adds if all arms have a single session, or some.
const ONE_EACH: &str =
    "one session a side, so this is about these sessions: another one may differ";
const ONE_OF_THEM: &str =
    "a side has one session only, so this is about these sessions: another one may differ";

/// The sessions of trials that count; `None` if any of these trials is a session of its own.
fn sessions<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> Option<BTreeSet<&'a str>> {
    let counted = trials.into_iter().filter(|trial| trial.standing() == Standing::Counts);
    counted.map(|trial| trial.session.as_deref()).collect()
}

/// What a conclusion adds if an arm has several trials, all of one session.
pub(super) fn remark(arms: &Arms) -> Option<&'static str> {
    let has_one = |arm: &ArmTrials| {
        sessions(arm.trials.iter().copied()).is_some_and(|found| found.len() == 1)
    };
    let is_one = |arm: &ArmTrials| arm.trials.len() > 1 && has_one(arm);
    arms.all.iter().any(is_one).then(|| match arms.all.iter().all(has_one) {
        true => ONE_EACH,
        false => ONE_OF_THEM,
    })
}

/// The inputs with one trial per session and combination of levels; `None` unless every arm has
/// several sessions with repetitions.
pub(super) fn merged(sets: &[Dataset], factor: Option<&str>) -> Option<Vec<Dataset>> {
    let has_several = |trials: &mut dyn Iterator<Item = &Trial>| {
        sessions(trials).is_some_and(|found| found.len() > 1)
    };
    let all_have = sets.iter().all(|set| match factor.and_then(|name| set.factor(name)) {
        Some(varied) => varied.levels.iter().all(|level| {
            let is_of_level = |trial: &&Trial| trial.levels.get(&varied.name) == Some(level);
            has_several(&mut set.trials.iter().filter(is_of_level))
        }),
        None => has_several(&mut set.trials.iter()),
    });
    all_have.then(|| sets.iter().map(by_session).collect())
}

fn by_session(set: &Dataset) -> Dataset {
    let mut merged = Dataset { trials: Vec::new(), ..set.clone() };
    let mut positions: BTreeMap<(&str, &BTreeMap<String, String>), usize> = BTreeMap::new();
    for trial in &set.trials {
        let Some(session) =
            trial.session.as_deref().filter(|_| trial.standing() == Standing::Counts)
        else {
            merged.trials.push(trial.clone());
            continue;
        };
        let at = *positions.entry((session, &trial.levels)).or_insert(merged.trials.len());
        match merged.trials.get_mut(at) {
            Some(known) => trial.values.iter().for_each(|values| extend(known, values)),
            None => merged.trials.push(trial.clone()),
        }
    }
    merged
}

fn extend(trial: &mut Trial, more: &Values) {
    let known = trial.values.iter_mut();
    let mut known =
        known.filter(|values| values.part == more.part && values.response == more.response);
    match known.next() {
        Some(values) => values.samples.extend(&more.samples),
        None => trial.values.push(more.clone()),
    }
}

/// The number of each trial's session within its arm; a trial without one is its own.
pub(super) fn numbers(arm: &ArmTrials) -> Vec<usize> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    let mut numbers = Vec::new();
    for (index, trial) in arm.trials.iter().copied().enumerate() {
        numbers.push(match trial.session.as_deref() {
            Some(session) => *known.entry(session).or_insert(index),
            None => index,
        });
    }
    numbers
}
