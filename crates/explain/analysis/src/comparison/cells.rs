//! The cells: which values of two arms are compared, and how they are paired.

use std::collections::BTreeMap;

use model::{BASELINE, Observation};
use stats::{
    Arms as Samples, CellResult, OverallCell, Pairing, Settings, TrialCost, Verdict,
    bounded_median, least_log_error,
};

use super::arms::{ArmTrials, Arms, Seen, samples};
use super::direction::without_direction;
use super::overall::UnjudgedCell;
use super::place::Place;
use super::{Cell, Outcome, PairedBy, Side, Unit, outcomes, seeds, sessions, stalls, unmatched};
use crate::dataset::LOAD;
use crate::explained::{Explained, ExplainedDifference, difference, is_counted};
use crate::{Direction, Response, Standing, Trial, grouped};

/// The response of a probe; a delay of 0, below the clock's resolution, counts as 1 ns.
const DELAY: &str = "delay_ns";
/// Responses that are divided into parts, where these are known.
const EXPLAINED: [&str; 2] = [DELAY, "elapsed_ns"];

/// The common cells of two arms, how their trials ended, and what was omitted. The first arms are
/// compared; how trials ended is counted in the second ones, in which sessions are not merged.
pub(super) fn cells(
    [arms, repetitions]: [&Arms; 2],
    responses: &BTreeMap<String, Response>,
    settings: &Settings,
) -> (Vec<UnjudgedCell>, Vec<Cell>, Vec<String>) {
    let (mut drafts, mut left_out) = (Vec::new(), Vec::new());
    let observed: Vec<BTreeMap<Place, Vec<Seen>>> =
        arms.all.iter().map(|arm| observe(arms, arm, responses)).collect();
    let mut places: Vec<&Place> = observed.iter().flat_map(BTreeMap::keys).collect();
    places.sort_by_key(|place| rank(arms, place));
    places.dedup();
    for second in 1..arms.all.len() {
        for place in &places {
            match [0, second].map(|arm| observed[arm].get(place)) {
                [Some(first), Some(other)] => {
                    let (sides, alpha) = ([&first[..], &other[..]], settings.alpha);
                    let mut draft = draft(arms, second, place, &responses[&place.0], sides, alpha);
                    if place.0 == DELAY {
                        let mut quiet = (*place).clone();
                        let load = quiet.1.get_mut(LOAD).map(|load| BASELINE.clone_into(load));
                        let noload = load.and_then(|()| observed[0].get(&quiet));
                        draft.cell.stalls = stalls::stalls(sides, noload.map(Vec::as_slice), alpha);
                    }
                    drafts.push(draft);
                }
                [None, None] => {}
                [first, _] => {
                    let (has, lacks) = if first.is_some() { (0, second) } else { (second, 0) };
                    left_out.push(unmatched::text(arms, [has, lacks], place, &observed));
                }
            }
        }
    }
    let mut ends = outcomes::cells(repetitions, responses);
    let proportions: Vec<_> = ends.iter().filter_map(outcomes::tested).collect();
    let family: Vec<Samples> = drafts.iter().filter_map(|draft| draft.test.clone()).collect();
    let judgement = stats::compare(&family, &proportions, settings);
    let to_judge = drafts.iter_mut().filter(|draft| draft.test.is_some());
    for (UnjudgedCell { cell, .. }, found) in to_judge.zip(judgement.cells) {
        cell.outcome = match found {
            Ok(found) => {
                let found = judged(found, responses[&cell.response].direction);
                cell.verdict = found.verdict;
                Outcome::Judged(Box::new(found))
            }
            Err(error) => Outcome::Untested { reason: error.to_string(), ratio: None },
        };
    }
    outcomes::judge(&mut ends, judgement.proportions);
    drafts.iter_mut().for_each(|draft| outcomes::restrain(&mut draft.cell, repetitions));
    (drafts, ends, left_out)
}

/// Replaces the verdict of a test where it is unknown which way is better.
fn judged(mut found: CellResult, direction: Direction) -> CellResult {
    found.verdict = without_direction(found.verdict, direction);
    found
}

/// The order of cells in a table: by response, levels in their order, part, the whole last.
fn rank(arms: &Arms, place: &Place) -> (String, Vec<usize>, bool, Option<String>) {
    let level = |(name, level): (&String, &String)| {
        let order = arms.order.get(name.as_str());
        order.and_then(|order| order.iter().position(|known| known == level)).unwrap_or(usize::MAX)
    };
    (place.0.clone(), place.1.iter().map(level).collect(), place.2.is_none(), place.2.clone())
}

fn observe<'a>(
    arms: &Arms,
    arm: &ArmTrials<'a>,
    responses: &BTreeMap<String, Response>,
) -> BTreeMap<Place, Vec<Seen<'a>>> {
    let mut places: BTreeMap<Place, Vec<Seen>> = BTreeMap::new();
    let counts = |trial: &&Trial| trial.standing() == Standing::Counts;
    let numbered = sessions::numbers(arm).into_iter().zip(arm.trials.iter().copied());
    for (number, trial) in numbered.filter(|it| counts(&it.1)) {
        for values in trial.values.iter().filter(|values| !values.samples.is_empty()) {
            if responses.contains_key(&values.response) {
                let place = (values.response.clone(), arms.place(trial), values.part.clone());
                let seen = Seen { number, trial, samples: &values.samples };
                places.entry(place).or_default().push(seen);
            }
        }
    }
    places
}

fn draft(
    arms: &Arms,
    second: usize,
    place: &Place,
    response: &Response,
    sides: [&[Seen]; 2],
    alpha: f64,
) -> UnjudgedCell {
    let (name, levels, part) = place.clone();
    let several = sides.iter().all(|side| side.len() >= 2);
    let one_figure_each = sides.iter().all(|side| side.iter().all(|it| it.samples.len() == 1));
    let unit = if several || one_figure_each { Unit::Trials } else { Unit::Samples };
    let deterministic = arms.are_exact(second);
    let by = [(PairedBy::Seed, deterministic), (PairedBy::Block, arms.blocks_match)];
    let mut by = by.into_iter().filter(|(_, possible)| several && *possible);
    let (pairs, paired_by) = by.find_map(|(by, _)| Some((partners(sides, by)?, by))).unzip();
    let chosen = pairs.unwrap_or_else(|| sides.map(<[Seen]>::to_vec));
    let values = chosen.each_ref().map(|side| match unit {
        Unit::Trials => side.iter().filter_map(|it| bounded_median(it.samples)).collect(),
        Unit::Samples => samples(side),
    });
    let costs_of = |values: &[Observation]| costs(&name, response, values);
    let costs = values.each_ref().map(|values| costs_of(values));
    let is_usable =
        !response.more_is_better() || !costs.iter().flatten().any(|it| it.is_lower_bound);
    let identical = identical(&costs, paired_by.is_some(), deterministic);
    let mut notes = Vec::new();
    let dropped: usize = (0..2).map(|arm| sides[arm].len() - chosen[arm].len()).sum();
    if dropped > 0 {
        notes.push(format!("{dropped} trials without a partner left out"));
    }
    if !several && !identical {
        let alone = if sides[0].len() == 1 { 0 } else { second };
        notes.push(single(&arms.all[alone].arm.name, unit, deterministic));
    }
    let trials = overall_cell(&chosen, paired_by.is_some(), costs_of);
    let is_repeated = unit == Unit::Trials && place.0 != DELAY && !deterministic;
    let least_log_error = if is_repeated { error_within(&chosen) } else { 0.0 };
    let [first, other] = values;
    let (first, other) = (side(sides[0], first), side(sides[1], other));
    notes.extend(censored(&first, &other));
    let is_time = EXPLAINED.contains(&&*name) && part.is_none();
    let cell = Cell {
        arm: second,
        unit,
        paired_by,
        verdict: if identical { Verdict::Equivalent } else { Verdict::CannotTell },
        outcome: if identical { Outcome::Identical } else { untested(&costs, is_usable) },
        seeds: deterministic.then(|| seeds::seeds(sides, costs_of)).flatten(),
        stalls: None,
        tick: None,
        explained: is_time.then(|| explained(&chosen, paired_by, unit, alpha)).flatten(),
        response: name,
        levels,
        part,
        first,
        second: other,
        notes,
    };
    let testable = !identical && is_usable && costs.iter().any(|side| side.len() > 1);
    let [first, second] = costs;
    let pairing = trials.pairing;
    let test = testable.then_some(Samples { first, second, pairing, least_log_error });
    UnjudgedCell { cell, test, trials }
}

/// The least error of the ratio by the repetitions in each trial, which are independent of each
/// other; delays of a probe are not.
fn error_within(chosen: &[Vec<Seen>; 2]) -> f64 {
    let values = chosen.each_ref().map(|side| -> Vec<Vec<f64>> {
        side.iter().map(|it| it.samples.iter().map(|sample| sample.value).collect()).collect()
    });
    let [first, second] = values.each_ref().map(|side| side.iter().map(Vec::as_slice));
    least_log_error(first, second)
}

/// The trials for the effect over all cells, bounds as values; `overall::doubt` allows for that.
fn overall_cell(
    chosen: &[Vec<Seen>; 2],
    paired: bool,
    costs_of: impl Fn(&[Observation]) -> Vec<Observation>,
) -> OverallCell {
    let cost = |(trial, medians): (usize, Vec<Observation>)| {
        let median = bounded_median(&medians)?;
        Some(TrialCost { trial, cost: costs_of(&[median])[0].value })
    };
    // Repetitions of one session are one value of it.
    let [first, second] = chosen.each_ref().map(|side| {
        let medians = side.iter().filter_map(|it| Some((it.number, bounded_median(it.samples)?)));
        grouped(medians).into_iter().filter_map(cost).collect()
    });
    let pairing = if paired { Pairing::Paired } else { Pairing::Unpaired };
    OverallCell { ratio: f64::NAN, first, second, pairing }
}

/// The trials with a partner of equal seed or block, in that order. `None` unless each has a
/// unique key and a median, and at most a fifth are lost.
fn partners<'a>(sides: [&[Seen<'a>]; 2], by: PairedBy) -> Option<[Vec<Seen<'a>>; 2]> {
    let keyed = |side: &[Seen<'a>]| -> Option<BTreeMap<u64, Seen<'a>>> {
        let key = |seen: &Seen<'a>| {
            let own = if by == PairedBy::Block { seen.trial.block } else { seen.trial.seed };
            bounded_median(seen.samples).and(own)
        };
        let map = side.iter().map(|seen| Some((key(seen)?, *seen)));
        map.collect::<Option<BTreeMap<_, _>>>().filter(|map| map.len() == side.len())
    };
    let mut maps = [keyed(sides[0])?, keyed(sides[1])?];
    let all = maps[0].len() + maps[1].len();
    let [first, second] = &mut maps;
    first.retain(|key, _| second.contains_key(key));
    second.retain(|key, _| first.contains_key(key));
    let is_enough = first.len() >= 2 && 5 * (all - 2 * first.len()) <= all;
    is_enough.then(|| maps.map(|map| map.into_values().collect()))
}

fn costs(name: &str, response: &Response, values: &[Observation]) -> Vec<Observation> {
    let cost = |value: f64| match (response.more_is_better(), name == DELAY) {
        (true, _) => 1.0 / value,
        (false, true) => value.max(1.0),
        (false, false) => value,
    };
    values.iter().map(|it| Observation { value: cost(it.value), ..*it }).collect()
}

/// Whether all pairs, or all values of both sides, are equal beyond a single value's chance.
fn identical(costs: &[Vec<Observation>; 2], paired: bool, deterministic: bool) -> bool {
    let [first, second] = costs;
    let mut all = first.iter().chain(second);
    let enough = deterministic || first.len().min(second.len()) >= 2;
    let known = !all.clone().any(|it| it.is_lower_bound);
    let constant = all.all(|it| *it == first[0]);
    enough && known && (constant || ((paired || deterministic) && first == second))
}

/// Without a test: the ratio of the medians, unless bounds decide it.
fn untested(costs: &[Vec<Observation>; 2], is_usable: bool) -> Outcome {
    let reason = match is_usable {
        true => "one figure each: no interval and no test",
        false => "lower bounds of what is better the more there is: no test",
    };
    let known = |side: &Vec<Observation>| bounded_median(side).filter(|it| !it.is_lower_bound);
    let ratio = known(&costs[1]).zip(known(&costs[0])).map(|(two, one)| two.value / one.value);
    let ratio = ratio.filter(|ratio| is_usable && ratio.is_finite() && *ratio > 0.0);
    Outcome::Untested { reason: reason.to_owned(), ratio }
}

/// A note on a single trial of an arm.
fn single(arm: &str, unit: Unit, deterministic: bool) -> String {
    match (unit, deterministic) {
        (Unit::Trials, _) => format!("{arm} has a single figure in some cells"),
        (Unit::Samples, true) => format!("{arm} has one seed: exact for it, and one draw of many"),
        (Unit::Samples, false) => format!(
            "{arm} has a single run in some cells: samples are compared, and variation \
             between runs is unknown"
        ),
    }
}

fn side(all: &[Seen], values: Vec<Observation>) -> Side {
    let samples = samples(all);
    let censored = samples.iter().filter(|sample| sample.is_lower_bound).count();
    let median = bounded_median(&values);
    Side { median, values, trials: all.len(), censored, samples: samples.len() }
}

/// A note on samples that were given up.
fn censored(first: &Side, second: &Side) -> Option<String> {
    let Side { censored, samples, .. } = first;
    (censored + second.censored > 0).then(|| {
        format!(
            "{censored} of {samples} and {} of {} samples timed out: they took longer than \
             recorded",
            second.censored, second.samples
        )
    })
}

/// The parts of the difference of the mean delays, where both arms have explained samples.
fn explained(
    chosen: &[Vec<Seen>; 2],
    paired_by: Option<PairedBy>,
    unit: Unit,
    alpha: f64,
) -> Option<ExplainedDifference> {
    fn of<'a>(seen: &Seen<'a>) -> Option<&'a [Explained]> {
        Some(&seen.trial.explained[..]).filter(|all| all.iter().any(|it| is_counted(&it.parts_ns)))
    }
    let [first, second] = chosen;
    let pairs = first.iter().zip(second).filter_map(|(one, other)| of(one).zip(of(other)));
    let sides = match paired_by {
        Some(_) => <[Vec<&[Explained]>; 2]>::from(pairs.unzip()),
        None => chosen.each_ref().map(|side| side.iter().filter_map(of).collect()),
    };
    let values = sides.map(|trials| match unit {
        Unit::Trials => trials,
        Unit::Samples => trials.into_iter().flat_map(|samples| samples.chunks(1)).collect(),
    });
    difference(values.each_ref().map(Vec::as_slice), paired_by.is_some(), 1.0 - alpha)
}
