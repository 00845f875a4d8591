//! Inputs of other programs in the same terms, before anything is compared: names of the work,
//! units and directions.
//!
//! A source names only what it varies as levels. What else names its work is in
//! [`Trial::identity`], and becomes a level as soon as another input varies it, so names do not
//! depend on what else is in a file. Values are converted into the first input's unit. What cannot
//! be converted, and directions that contradict each other, are refused.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use model::units::split_time_name;

use crate::quantity::{Quantity, scaled};
use crate::{Dataset, Direction, Factor, Refused, Trial, distinct};

/// The part of the identity of Go's benchmarks that is a fact of the machine as often.
const PROCS: &str = "procs";
/// The part of the identity that names a benchmark.
const BENCHMARK: &str = "benchmark";

/// The inputs with common levels and names of responses.
pub(super) fn with_common_names(sets: &[Dataset]) -> Cow<'_, [Dataset]> {
    let mut sets = Cow::Borrowed(sets);
    let varied: BTreeSet<String> = sets
        .iter()
        .flat_map(|set| &set.factors)
        .filter(|factor| factor.levels.len() > 1)
        .map(|factor| factor.name.clone())
        .collect();
    let lacks = |trial: &Trial, name: &String| {
        !trial.levels.contains_key(name) && trial.identity.contains_key(name)
    };
    for name in &varied {
        if sets.iter().flat_map(|set| &set.trials).any(|trial| lacks(trial, name)) {
            sets.to_mut().iter_mut().for_each(|set| add_level(set, name));
        }
    }
    if varied.contains(PROCS)
        && let Some((first, others)) = sets.to_mut().split_first_mut()
    {
        others.iter_mut().for_each(|other| match_procs(first, other));
    }
    for index in 1..sets.len() {
        for (from, to) in renamed_times(&sets[0], &sets[index]) {
            rename(&mut sets.to_mut()[index], &from, &to);
        }
    }
    sets
}

/// A note on benchmarks that are matched although they used different numbers of CPUs.
pub(super) fn procs_note(sets: &[Dataset]) -> Option<String> {
    let of_set = |set: &Dataset| -> BTreeSet<String> {
        let of_trial = |trial: &Trial| trial.identity.get(PROCS).cloned();
        set.trials.iter().filter_map(of_trial).collect()
    };
    let all: Vec<BTreeSet<String>> = sets.iter().map(of_set).collect();
    let is_level = sets.iter().any(|set| set.factor(PROCS).is_some());
    let differ = all.iter().any(|procs| !procs.is_empty() && *procs != all[0]);
    (differ && !is_level && !all[0].is_empty()).then(|| {
        let texts: Vec<String> = all
            .iter()
            .map(|procs| procs.iter().cloned().collect::<Vec<_>>().join(" and "))
            .collect();
        format!(
            "the benchmarks ran on different numbers of CPUs ({}) and are matched by the rest of \
             their names",
            texts.join(", ")
        )
    })
}

/// Matches benchmarks by the rest of their names where no number of CPUs is in both inputs: those
/// on the most CPUs of each, which is the usual number of a machine.
fn match_procs(first: &Dataset, other: &mut Dataset) {
    let (of_first, of_other) = (procs_by_rest(first), procs_by_rest(other));
    let most_alone = |all: &BTreeSet<u32>, others: &BTreeSet<u32>| {
        all.difference(others).max().map(|procs| procs.to_string())
    };
    let mut pairs = BTreeSet::new();
    for trial in &mut other.trials {
        let rest = rest_of(trial);
        let Some((others, all)) = of_first.get(&rest).zip(of_other.get(&rest)) else { continue };
        let (own, partner) = (most_alone(all, others), most_alone(others, all));
        if let (Some(own), Some(partner)) = (own, partner)
            && trial.levels.get(PROCS) == Some(&own)
        {
            trial.levels.insert(PROCS.to_owned(), partner.clone());
            pairs.insert((own, partner));
        }
    }
    for (own, partner) in pairs {
        other.notes.push(format!(
            "benchmarks on {own} CPUs in {} are compared with those on {partner} in {}: they match \
             by the rest of their names",
            other.name, first.name
        ));
    }
    let levels = other.trials.iter().filter_map(|trial| trial.levels.get(PROCS).cloned());
    let levels = distinct(levels);
    if let Some(factor) = other.factors.iter_mut().find(|factor| factor.name == PROCS) {
        factor.levels = levels;
    }
}

/// The numbers of CPUs of each benchmark.
fn procs_by_rest(set: &Dataset) -> BTreeMap<BTreeMap<String, String>, BTreeSet<u32>> {
    let mut all: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
    for trial in set.trials.iter().filter(|trial| trial.identity.contains_key(BENCHMARK)) {
        if let Some(procs) = trial.levels.get(PROCS).and_then(|procs| procs.parse().ok()) {
            all.entry(rest_of(trial)).or_default().insert(procs);
        }
    }
    all
}

/// The levels of a trial but the number of CPUs.
fn rest_of(trial: &Trial) -> BTreeMap<String, String> {
    let rest = trial.levels.iter().filter(|(name, _)| *name != PROCS);
    rest.map(|(name, level)| (name.clone(), level.clone())).collect()
}

/// Makes a part of the identity a factor of the set.
fn add_level(set: &mut Dataset, name: &str) {
    let mut levels = set.factor(name).map_or_else(Vec::new, |factor| factor.levels.clone());
    for trial in &mut set.trials {
        if !trial.levels.contains_key(name)
            && let Some(level) = trial.identity.get(name)
        {
            levels.push(level.clone());
            trial.levels.insert(name.to_owned(), level.clone());
        }
    }
    let levels = distinct(levels);
    match set.factors.iter_mut().find(|factor| factor.name == name) {
        Some(factor) => factor.levels = levels,
        None => set.factors.push(Factor { name: name.to_owned(), levels }),
    }
}

/// Responses that only differ in the unit at the end of their names, `elapsed_ms` and
/// `elapsed_s`.
fn renamed_times(first: &Dataset, other: &Dataset) -> Vec<(String, String)> {
    let stem = |name: &str| split_time_name(name).map(|(stem, ..)| stem.to_owned());
    let alone = other.responses.keys().filter(|name| !first.responses.contains_key(*name));
    let target = |name: &String| {
        let own = stem(name)?;
        let mut targets = first.responses.keys().filter(|it| stem(it).as_ref() == Some(&own));
        let target = targets.next().filter(|it| !other.responses.contains_key(*it))?;
        targets.next().is_none().then(|| (name.clone(), target.clone()))
    };
    alone.filter_map(target).collect()
}

fn rename(set: &mut Dataset, from: &str, to: &str) {
    let Some(response) = set.responses.remove(from) else { return };
    set.responses.insert(to.to_owned(), response);
    for trial in &mut set.trials {
        let values = trial.values.iter_mut().filter(|values| values.response == from);
        values.for_each(|values| to.clone_into(&mut values.response));
        if let Some(why) = trial.lost.remove(from) {
            trial.lost.insert(to.to_owned(), why);
        }
    }
}

/// The inputs with one unit and one direction per compared response. Fails where units measure
/// different things, or directions contradict each other.
pub(super) fn with_common_meaning<'a>(
    mut sets: Cow<'a, [Dataset]>,
    names: &BTreeSet<String>,
    directions: &BTreeMap<String, Direction>,
) -> Result<Cow<'a, [Dataset]>, Refused> {
    for name in names {
        let having: Vec<usize> =
            (0..sets.len()).filter(|at| sets[*at].responses.contains_key(name)).collect();
        let Some((first, others)) = having.split_first() else { continue };
        for other in others {
            if let Some(factor) = conversion(name, &sets[*first], &sets[*other])? {
                let unit = sets[*first].responses[name].unit.clone();
                convert(&mut sets.to_mut()[*other], name, &unit, factor);
            }
        }
        let known = having.iter().filter_map(|at| {
            let direction = sets[*at].responses[name].direction;
            (direction != Direction::Unknown).then_some((*at, direction))
        });
        let known: Vec<(usize, Direction)> = known.collect();
        let direction = match (directions.get(name), known.split_first()) {
            (Some(given), _) => *given,
            (None, None) => continue,
            (None, Some(((at, direction), rest))) => {
                let against = rest.iter().find(|(_, other)| other != direction);
                if let Some((other, opposite)) = against {
                    return Err(contradiction(
                        name,
                        [(&sets[*at], *direction), (&sets[*other], *opposite)],
                    ));
                }
                *direction
            }
        };
        if having.iter().any(|at| sets[*at].responses[name].direction != direction) {
            for at in having {
                if let Some(response) = sets.to_mut()[at].responses.get_mut(name) {
                    response.direction = direction;
                }
            }
        }
    }
    Ok(sets)
}

/// The factor from the other input's unit to that of the first; `None` if they are the same.
fn conversion(name: &str, first: &Dataset, other: &Dataset) -> Result<Option<f64>, Refused> {
    let [one, two] = [first, other].map(|set| set.responses[name].unit.as_str());
    if one == two {
        return Ok(None);
    }
    match Quantity::of_unit(two).in_units_of(&Quantity::of_unit(one)) {
        Some(factor) => Ok(Some(factor)),
        None => Err(Refused::new(format!(
            "{name} is in {} in {} and in {} in {}, which measure different things: name other \
             responses with --response",
            quoted(one),
            first.name,
            quoted(two),
            other.name
        ))),
    }
}

fn quoted(unit: &str) -> String {
    if unit.is_empty() { "no unit".to_owned() } else { format!("{unit:?}") }
}

fn convert(set: &mut Dataset, name: &str, unit: &str, factor: f64) {
    let Some(response) = set.responses.get_mut(name) else { return };
    let from = std::mem::replace(&mut response.unit, unit.to_owned());
    let values = set.trials.iter_mut().flat_map(|trial| &mut trial.values);
    for values in values.filter(|values| values.response == name) {
        values.samples.iter_mut().for_each(|it| it.value = scaled(it.value, factor));
    }
    set.notes.push(format!("{name} of {} is converted from {from} to {unit}", set.name));
}

fn contradiction(name: &str, sides: [(&Dataset, Direction); 2]) -> Refused {
    let [one, two] = sides.map(|(set, direction)| format!("{} in {}", direction.word(), set.name));
    Refused::new(format!(
        "of {name}, {one} is better, but {two}: settle it with --higher-is-better {name} or \
         --lower-is-better {name}"
    ))
}
