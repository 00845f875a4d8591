//! How runs ended, compared like any other response: a failure is a result.
//!
//! On deterministic machines a seed with which only one arm fails is a certain difference;
//! elsewhere Fisher's exact test decides, in the family of all cells.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use stats::{ProportionResult, Proportions, Verdict};

use super::arms::{Arms, Levels};
use super::{Cell, Outcome, PairedBy, Side, Unit};
use crate::{OUTCOME, Response, Standing, Trial, distinct};

/// How the trials of two arms ended, in one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ends {
    /// The first arm's.
    pub first: EndCount,
    /// The other arm's.
    pub second: EndCount,
    /// Seeds with which only the first arm, and only the other, failed; `None` unless both arms
    /// are deterministic with the same seeds.
    pub alone: Option<[u64; 2]>,
    /// Fisher's exact test; `None` where the seeds decide.
    pub test: Option<ProportionResult>,
}

/// Failed trials of an arm, and their causes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EndCount {
    /// Number of failed trials.
    pub failed: u64,
    /// Number of trials that count.
    pub trials: u64,
    /// Count by cause, one line each.
    pub causes: BTreeMap<String, u64>,
}

impl Ends {
    /// A sentence without verdict: `failed 2 of 2, reference 0 of 2: the kernel died: …`.
    pub fn text(&self) -> String {
        let count = |side: &EndCount| format!("{} of {}", side.failed, side.trials);
        let text = format!("failed {}, reference {}", count(&self.second), count(&self.first));
        let mut causes: Vec<(&String, &u64)> =
            self.second.causes.iter().chain(&self.first.causes).collect();
        causes.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        if let Some((cause, _)) = causes.first() { format!("{text}: {cause}") } else { text }
    }
}

/// The cells in which a trial of either arm failed, wholly or to measure one response; all if
/// outcomes were requested.
pub(super) fn cells(arms: &Arms, responses: &BTreeMap<String, Response>) -> Vec<Cell> {
    let places = distinct(arms.trials().map(|trial| arms.place(trial)));
    let lost: BTreeSet<&String> = arms.trials().flat_map(|trial| trial.lost.keys()).collect();
    let lost = lost.into_iter().filter(|response| responses.contains_key(*response));
    let of: Vec<Option<&str>> =
        [None].into_iter().chain(lost.map(|response| Some(response.as_str()))).collect();
    let is_requested = responses.contains_key(OUTCOME);
    let has_failures = |cell: &Cell| matches!(&cell.outcome, Outcome::Ends(it) if it.first.failed + it.second.failed > 0);
    let all = (1..arms.all.len()).flat_map(|arm| places.iter().map(move |place| (arm, place)));
    let found = all.flat_map(|(arm, place)| {
        of.iter().filter_map(move |response| cell(arms, arm, place, *response))
    });
    found.filter(|cell| is_requested || has_failures(cell)).collect()
}

/// The outcomes of whole trials, or of one response whose name is then the part.
fn cell(arms: &Arms, arm: usize, place: &Levels, response: Option<&str>) -> Option<Cell> {
    let failed = |trial: &Trial| match response {
        None => trial.failed(),
        Some(response) => trial.lost(response),
    };
    let sides = [0, arm].map(|arm| -> Vec<&Trial> {
        arms.at(arm, place).filter(|trial| failed(trial).is_some()).collect()
    });
    if sides.iter().any(Vec::is_empty) {
        return None;
    }
    let alone = alone(&sides).filter(|_| response.is_none() && arms.are_exact(arm));
    let verdict = match alone {
        Some([0, 0]) => Verdict::Equivalent,
        Some([0, _]) => Verdict::Regression,
        Some([_, 0]) => Verdict::Improvement,
        Some(_) | None => Verdict::CannotTell,
    };
    let [first, second] = sides.each_ref().map(|trials| count(trials, response));
    Some(Cell {
        arm,
        response: OUTCOME.to_owned(),
        levels: place.clone(),
        part: response.map(str::to_owned),
        unit: Unit::Trials,
        paired_by: alone.map(|_| PairedBy::Seed),
        first: side(&first),
        second: side(&second),
        verdict,
        outcome: Outcome::Ends(Box::new(Ends { first, second, alone, test: None })),
        seeds: None,
        stalls: None,
        explained: None,
        tick: None,
        notes: Vec::new(),
    })
}

fn count(trials: &[&Trial], response: Option<&str>) -> EndCount {
    let mut count = EndCount { trials: trials.len() as u64, ..EndCount::default() };
    for trial in trials {
        let cause = match response {
            Some(response) => trial.lost.get(response).cloned(),
            None if trial.failed() != Some(true) => None,
            None => trial.ending.as_ref().map(|ending| ending.text().unwrap_or_default()),
        };
        let Some(cause) = cause else { continue };
        count.failed += 1;
        if !cause.is_empty() {
            *count.causes.entry(cause).or_insert(0) += 1;
        }
    }
    count
}

fn side(count: &EndCount) -> Side {
    let trials = count.trials as usize;
    Side { trials, samples: trials, ..Side::default() }
}

/// See [`Ends::alone`].
fn alone(sides: &[Vec<&Trial>; 2]) -> Option<[u64; 2]> {
    let by_seed = |trials: &Vec<&Trial>| -> Option<BTreeMap<u64, bool>> {
        trials.iter().map(|trial| Some((trial.seed?, trial.failed()?))).collect()
    };
    let [first, second] = [by_seed(&sides[0])?, by_seed(&sides[1])?];
    let only = |one: &BTreeMap<u64, bool>, other: &BTreeMap<u64, bool>| {
        one.iter().filter(|(seed, failed)| **failed && !other[*seed]).count() as u64
    };
    first.keys().eq(second.keys()).then(|| [only(&first, &second), only(&second, &first)])
}

/// Cells whose seeds do not decide, for the exact test.
pub(super) fn tested(cell: &Cell) -> Option<Proportions> {
    let Outcome::Ends(ends) = &cell.outcome else { return None };
    let of = |side: &EndCount| (side.failed, side.trials);
    let proportions = Proportions { first: of(&ends.first), second: of(&ends.second) };
    ends.alone.is_none().then_some(proportions)
}

/// Puts the test results into the cells that [`tested`] named, in order.
pub(super) fn judge(cells: &mut [Cell], results: Vec<Option<ProportionResult>>) {
    let waiting = cells.iter_mut().filter(|cell| tested(cell).is_some());
    for (cell, result) in waiting.zip(results) {
        if let (Outcome::Ends(ends), Some(result)) = (&mut cell.outcome, result) {
            ends.test = Some(result);
            cell.verdict = result.verdict;
        }
    }
}

/// Revokes a verdict that the values of failed trials, which may be any, could change.
pub(super) fn restrain(cell: &mut Cell, arms: &Arms) {
    let is_lost = |trial: &&Trial| {
        trial.standing() == Standing::Failed || trial.lost(&cell.response) == Some(true)
    };
    let lost = |arm: usize| arms.at(arm, &cell.levels).filter(is_lost).count();
    let (first, second) = (lost(0), lost(cell.arm));
    let is_open = match cell.verdict {
        Verdict::Regression => first > 0,
        Verdict::Improvement => second > 0,
        Verdict::Equivalent | Verdict::Difference => first + second > 0,
        Verdict::CannotTell => false,
    };
    if first + second > 0 {
        let failed = format!("{first} and {second} trials failed");
        cell.notes.push(format!("{failed} and have no values: the others are compared"));
    }
    if is_open {
        cell.verdict = Verdict::CannotTell;
        if let Outcome::Judged(found) = &mut cell.outcome {
            found.verdict = Verdict::CannotTell;
            found.why = Some(stats::NotDecided::BoundsDecide);
        }
    }
}
