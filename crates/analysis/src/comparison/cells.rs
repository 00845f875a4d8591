//! The cells: which values of two arms are compared, and by what they belong together.

use std::collections::{BTreeMap, BTreeSet};

use model::Observation;
use stats::{Arms as Samples, Pairing, Settings, Verdict, bounded_median};

use super::arms::{ArmTrials, Arms};
use super::{Cell, Outcome, PairedBy, Side, Unit, outcomes, seeds};
use crate::{Response, Standing, Trial, Values};

/// The delays of a probe; one of 0 lies within the clock's step and counts as 1 ns.
pub(super) const DELAY: &str = "delay_ns";

/// Where a cell stands: response, levels, part.
type Place = (String, BTreeMap<String, String>, Option<String>);

/// What may tell which trials belong together.
type Key = fn(&Trial) -> Option<u64>;

/// What one arm has for a cell.
struct Observed<'a> {
    trials: Vec<(&'a Trial, &'a Values)>,
}

/// Values of one arm and what they are.
struct Chosen {
    values: Vec<Observation>,
    keys: Vec<Option<u64>>,
}

/// The cells that two arms have in common, judged together, and what was left out.
pub(super) fn cells(
    arms: &Arms,
    responses: &BTreeMap<String, Response>,
    settings: &Settings,
) -> (Vec<Cell>, Vec<String>) {
    let mut left_out = Vec::new();
    let (mut cells, mut samples) = (Vec::new(), Vec::new());
    let observed: Vec<BTreeMap<Place, Observed>> =
        arms.all.iter().map(|arm| observe(arms, arm, responses)).collect();
    let mut places: Vec<&Place> = observed.iter().flat_map(BTreeMap::keys).collect();
    places.sort_by_key(|place| rank(arms, place));
    places.dedup();
    for second in 1..arms.all.len() {
        for place in &places {
            let response = &responses[&place.0];
            match (observed[0].get(place), observed[second].get(place)) {
                (Some(first), Some(other)) => {
                    let (cell, sample) = cell(arms, second, place, response, [first, other]);
                    cells.push(cell);
                    samples.push(sample);
                }
                (first, other) if first.is_some() != other.is_some() => {
                    let has = if first.is_some() { 0 } else { second };
                    left_out.push(format!("{} has {} alone", arms.all[has].name, words(place)));
                }
                _ => {}
            }
        }
    }
    let mut ends = outcomes::cells(arms, responses);
    let proportions: Vec<_> = ends.iter().filter_map(outcomes::tested).collect();
    let to_judge: Vec<usize> = (0..cells.len()).filter(|index| samples[*index].is_some()).collect();
    let family: Vec<Samples> = samples.into_iter().flatten().collect();
    let judgement = stats::compare(&family, &proportions, settings);
    for (index, found) in to_judge.into_iter().zip(judgement.cells) {
        let cell: &mut Cell = &mut cells[index];
        match found {
            Ok(found) => {
                cell.verdict = found.verdict;
                cell.outcome = Outcome::Judged(Box::new(found));
            }
            Err(error) => {
                cell.outcome = Outcome::Untested { reason: error.to_string(), ratio: None };
            }
        }
    }
    outcomes::judge(&mut ends, judgement.proportions);
    cells.iter_mut().for_each(|cell| outcomes::restrain(cell, arms));
    ends.append(&mut cells);
    (ends, left_out)
}

/// Where a place stands in a table: responses by name, levels in their order, parts by name and
/// the whole last.
fn rank(arms: &Arms, place: &Place) -> (String, Vec<usize>, bool, Option<String>) {
    let level = |(name, level): (&String, &String)| {
        let order = arms.order.get(name.as_str());
        order.and_then(|order| order.iter().position(|known| known == level)).unwrap_or(usize::MAX)
    };
    (place.0.clone(), place.1.iter().map(level).collect(), place.2.is_none(), place.2.clone())
}

fn words(place: &Place) -> String {
    let (response, levels, part) = place;
    let levels = levels.iter().map(|(name, level)| format!("{name} {level}"));
    let parts: Vec<String> = levels.chain(part.clone()).collect();
    if parts.is_empty() { response.clone() } else { format!("{response} of {}", parts.join(", ")) }
}

/// The values of an arm, place by place.
fn observe<'a>(
    arms: &Arms,
    arm: &ArmTrials<'a>,
    responses: &BTreeMap<String, Response>,
) -> BTreeMap<Place, Observed<'a>> {
    let mut places: BTreeMap<Place, Observed> = BTreeMap::new();
    for trial in arm.trials.iter().filter(|trial| trial.standing() == Standing::Counts) {
        for values in &trial.values {
            if !responses.contains_key(&values.response) || values.samples.is_empty() {
                continue;
            }
            let place = (values.response.clone(), arms.place(trial), values.part.clone());
            let observed = places.entry(place).or_insert(Observed { trials: Vec::new() });
            observed.trials.push((*trial, values));
        }
    }
    places
}

/// A cell without its verdict, and the costs to judge it by unless there is nothing to judge.
fn cell(
    arms: &Arms,
    second: usize,
    place: &Place,
    response: &Response,
    observed: [&Observed; 2],
) -> (Cell, Option<Samples>) {
    let [first, other] = observed;
    let mut notes = Vec::new();
    let several = first.trials.len() >= 2 && other.trials.len() >= 2;
    let by_trial = several || (first.one_figure_each() && other.one_figure_each());
    let unit = if by_trial { Unit::Trials } else { Unit::Samples };
    let deterministic = arms.all[0].deterministic && arms.all[second].deterministic;
    let (chosen, paired_by, dropped) = match several {
        true => matched(observed, deterministic, arms.blocks_match),
        false => (observed.map(|side| side.choose(unit, |_| None)), None, 0),
    };
    if dropped > 0 {
        notes.push(format!("{dropped} trials without a partner left out"));
    }
    let costs = chosen.each_ref().map(|side| costs(&place.0, response, &side.values));
    let is_usable = !response.more_is_better || !costs.iter().flatten().any(|it| it.is_lower_bound);
    let identical = identical(&costs, paired_by.is_some(), deterministic);
    if !several && !identical {
        let alone = if first.trials.len() == 1 { 0 } else { second };
        notes.push(single(&arms.all[alone].name, unit, deterministic));
    }
    let sides = [side(first, &chosen[0]), side(other, &chosen[1])];
    notes.extend(censored(&sides));
    let [first_side, second_side] = sides;
    let cell = Cell {
        arm: second,
        response: place.0.clone(),
        levels: place.1.clone(),
        part: place.2.clone(),
        unit,
        paired_by,
        seeds: deterministic
            .then(|| seeds::seeds(&by_seed(first, response), &by_seed(other, response)))
            .flatten(),
        verdict: if identical { Verdict::Equivalent } else { Verdict::CannotTell },
        outcome: match identical {
            true => Outcome::Identical,
            false if !is_usable => Outcome::Untested {
                reason: "lower bounds of what is better the more there is: no test".to_owned(),
                ratio: None,
            },
            false => untested(&costs),
        },
        first: first_side,
        second: second_side,
        stalls: None,
        tick: None,
        explained: None,
        notes,
    };
    let [first, second] = costs;
    let testable = !identical && is_usable && (first.len() > 1 || second.len() > 1);
    let pairing = if paired_by.is_some() { Pairing::Paired } else { Pairing::Unpaired };
    (cell, testable.then_some(Samples { first, second, pairing }))
}

impl Observed<'_> {
    fn one_figure_each(&self) -> bool {
        self.trials.iter().all(|(_, values)| values.samples.len() == 1)
    }

    /// One value a trial, or all samples.
    fn choose(&self, unit: Unit, key: impl Fn(&Trial) -> Option<u64>) -> Chosen {
        let mut chosen = Chosen { values: Vec::new(), keys: Vec::new() };
        for (trial, values) in &self.trials {
            match unit {
                Unit::Trials => {
                    chosen.values.extend(bounded_median(&values.samples));
                    chosen.keys.push(key(trial));
                }
                Unit::Samples => chosen.values.extend(&values.samples),
            }
        }
        chosen
    }
}

/// A value for each trial: in pairs of equal seeds, else of equal blocks, else unpaired; and how
/// many trials have no partner.
fn matched(
    observed: [&Observed; 2],
    seeds_match: bool,
    blocks_match: bool,
) -> ([Chosen; 2], Option<PairedBy>, usize) {
    let keys: [(PairedBy, bool, Key); 2] = [
        (PairedBy::Seed, seeds_match, |trial| trial.seed),
        (PairedBy::Block, blocks_match, |trial| trial.block),
    ];
    let pairs = keys.into_iter().filter(|(_, possible, _)| *possible).find_map(|(by, _, key)| {
        let (pairs, dropped) = pair(observed.map(|side| side.choose(Unit::Trials, key)))?;
        Some((pairs, Some(by), dropped))
    });
    pairs.unwrap_or_else(|| (observed.map(|side| side.choose(Unit::Trials, |_| None)), None, 0))
}

/// The values with a partner, in the order of their keys, and how many have none. `None` unless
/// every value has a key, no key comes twice, and at most a fifth is lost.
fn pair(sides: [Chosen; 2]) -> Option<([Chosen; 2], usize)> {
    let keyed = |side: &Chosen| -> Option<BTreeMap<u64, Observation>> {
        let keys: Vec<u64> = side.keys.iter().copied().collect::<Option<_>>()?;
        let map: BTreeMap<u64, Observation> =
            keys.into_iter().zip(side.values.iter().copied()).collect();
        (map.len() == side.values.len()).then_some(map)
    };
    let maps = [keyed(&sides[0])?, keyed(&sides[1])?];
    let common: BTreeSet<u64> =
        maps[0].keys().filter(|key| maps[1].contains_key(key)).copied().collect();
    let all = maps[0].len() + maps[1].len();
    let dropped = all - 2 * common.len();
    if common.len() < 2 || 5 * dropped > all {
        return None;
    }
    let side = |map: &BTreeMap<u64, Observation>| Chosen {
        values: common.iter().map(|key| map[key]).collect(),
        keys: common.iter().map(|key| Some(*key)).collect(),
    };
    Some(([side(&maps[0]), side(&maps[1])], dropped))
}

/// Values as costs, of which less is better.
pub(super) fn costs(name: &str, response: &Response, values: &[Observation]) -> Vec<Observation> {
    let cost = |value: f64| match (response.more_is_better, name == DELAY) {
        (true, _) => 1.0 / value,
        (false, true) => value.max(1.0),
        (false, false) => value,
    };
    values.iter().map(|it| Observation { value: cost(it.value), ..*it }).collect()
}

/// Whether there is no difference at all: pairs that are equal one by one, or one and the same
/// value on both sides. Without a promise of repetition a single value shows nothing.
fn identical(costs: &[Vec<Observation>; 2], paired: bool, deterministic: bool) -> bool {
    let [first, second] = costs;
    let mut all = first.iter().chain(second);
    let enough = deterministic || first.len().min(second.len()) >= 2;
    let known = !all.clone().any(|it| it.is_lower_bound);
    let constant = all.all(|it| *it == first[0]);
    enough && known && (constant || ((paired || deterministic) && first == second))
}

/// What can be said without a test: the ratio of the medians.
fn untested(costs: &[Vec<Observation>; 2]) -> Outcome {
    let known = |side: &Vec<Observation>| bounded_median(side).filter(|it| !it.is_lower_bound);
    let ratio = known(&costs[1]).zip(known(&costs[0])).map(|(two, one)| two.value / one.value);
    Outcome::Untested {
        reason: "one figure each: no interval and no test".to_owned(),
        ratio: ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0),
    }
}

/// What a single trial of an arm means.
fn single(arm: &str, unit: Unit, deterministic: bool) -> String {
    match (unit, deterministic) {
        (Unit::Trials, _) => format!("{arm} has a single figure in some cells"),
        (Unit::Samples, true) => {
            format!("{arm} has one seed: exact for it, and one draw of many")
        }
        (Unit::Samples, false) => format!(
            "{arm} has a single run in some cells: samples are compared, and how runs differ \
             from each other was not seen"
        ),
    }
}

fn side(observed: &Observed, chosen: &Chosen) -> Side {
    Side {
        median: bounded_median(&chosen.values),
        values: chosen.values.clone(),
        trials: observed.trials.len(),
        censored: observed.trials.iter().map(|(_, values)| values.censored()).sum(),
        samples: observed.trials.iter().map(|(_, values)| values.samples.len()).sum(),
    }
}

/// What samples that were given up mean.
fn censored(sides: &[Side; 2]) -> Option<String> {
    let counts = sides.each_ref().map(|side| side.censored);
    (counts != [0, 0]).then(|| {
        format!(
            "{} of {} and {} of {} samples were given up: they took longer than they count",
            counts[0], sides[0].samples, counts[1], sides[1].samples
        )
    })
}

/// The median cost of each seed, where bounds do not decide it; trials of one seed count together.
fn by_seed(observed: &Observed, response: &Response) -> BTreeMap<u64, f64> {
    let mut samples: BTreeMap<u64, Vec<Observation>> = BTreeMap::new();
    for (trial, values) in &observed.trials {
        if let Some(seed) = trial.seed {
            let costs = costs(&values.response, response, &values.samples);
            samples.entry(seed).or_default().extend(costs);
        }
    }
    let known = |(seed, samples): (u64, Vec<Observation>)| {
        let median = bounded_median(&samples).filter(|median| !median.is_lower_bound)?;
        Some((seed, median.value))
    };
    samples.into_iter().filter_map(known).collect()
}
