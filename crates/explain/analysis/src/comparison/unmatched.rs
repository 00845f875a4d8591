//! What only one of two arms has: why, and the nearest candidate in the other one.

use std::collections::BTreeMap;

use super::arms::{Arms, Seen};
use super::place::{Place, words};
use crate::{Ending, Standing, Trial};

/// Names that are less alike are not candidates.
const LEAST_ALIKE: f64 = 0.6;

/// A line about a place that the first of these arms has, and the second lacks.
pub(super) fn text(
    arms: &Arms,
    [has, lacks]: [usize; 2],
    place: &Place,
    observed: &[BTreeMap<Place, Vec<Seen>>],
) -> String {
    let text = format!("{} has {} alone", arms.all[has].arm.name, words(place));
    let other = &arms.all[lacks].arm.name;
    if let Some(why) = reason(arms, lacks, place) {
        return format!("{text}; {other}: {why}");
    }
    let unmatched = observed[lacks].keys().filter(|it| !observed[has].contains_key(*it));
    let likeness = |other: &Place| strsim::normalized_levenshtein(&words(place), &words(other));
    let nearest = unmatched
        .map(|other| (likeness(other), other))
        .filter(|(likeness, _)| *likeness >= LEAST_ALIKE)
        .max_by(|(one, _), (two, _)| one.total_cmp(two));
    match nearest {
        Some((_, nearest)) => format!("{text}; the nearest in {other} is {}", words(nearest)),
        None => text,
    }
}

/// Why an arm has no value at a place where it has trials.
fn reason(arms: &Arms, arm: usize, (response, levels, _): &Place) -> Option<String> {
    let why = |trial: &'_ Trial| {
        let failed = trial.ending.as_ref().filter(|_| trial.standing() == Standing::Failed);
        let lost = trial.lost.get(response).map(|why| format!("it failed: {why}"));
        let skipped = trial.skipped.as_ref().map(|why| format!("not measured: {why}"));
        failed.and_then(Ending::text).or(lost).or(skipped)
    };
    arms.at(arm, levels).find_map(why)
}
