//! The primary estimate of a comparison: one effect of an arm over all its cells.
//!
//! It is declared before anything is seen, so no cell is chosen: of every arm and response, all
//! cells with a ratio, each counting once ([`stats::overall`]). Where there are parts the wholes
//! are left out, since they consist of them.
//!
//! Every trial counts by its median in each cell. A trial that is in several cells (the commands of
//! one session) is one trial in all of them.

use std::collections::BTreeMap;

use serde::Serialize;
use stats::{
    NotDecided, OverallCell, OverallEffect, Pairing, Settings, TrialCost, Verdict, bounded_median,
    geometric_mean,
};

use super::arms::{ArmTrials, Arms};
use super::{Cell, PairedBy, cells, ticks};
use crate::{Response, Standing, Trial};

/// The effect of an arm on a response over all its cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overall {
    /// Which arm, as its place in [`super::Comparison::arms`].
    pub arm: usize,
    /// On which response.
    pub response: String,
    /// Over how many cells.
    pub cells: usize,
    /// The geometric mean of their ratios.
    pub ratio: f64,
    /// `≥ ` or `≤ ` if lower bounds among the values leave it open in this direction, `≶ ` in
    /// both, else nothing.
    pub ratio_mark: &'static str,
    /// The cell without which the mean is lowest, and that mean.
    pub lowest_without: (String, f64),
    /// The cell without which the mean is highest, and that mean.
    pub highest_without: (String, f64),
    /// What was found.
    pub verdict: Verdict,
    /// Interval and tests; `None` where there are none.
    pub effect: Option<Box<OverallEffect>>,
    /// Why there are none, or why they are no verdict.
    pub reason: Option<String>,
}

impl Overall {
    /// What it is over: `both cells`, `all 10 cells`.
    #[must_use]
    pub fn over(&self) -> String {
        match self.cells {
            2 => "both cells".to_owned(),
            several => format!("all {several} cells"),
        }
    }
}

/// The cells of one effect, before it is judged.
struct Group<'a> {
    arm: usize,
    response: &'a str,
    cells: Vec<&'a Cell>,
}

/// The effects of every arm and response with at least two cells that have a ratio, judged together.
pub(super) fn overall(
    arms: &Arms,
    responses: &BTreeMap<String, Response>,
    all: &[Cell],
    settings: &Settings,
) -> Vec<Overall> {
    let groups = groups(all);
    let inputs: Vec<Vec<OverallCell>> = groups
        .iter()
        .map(|group| {
            let cells = group.cells.iter();
            cells.map(|cell| input(arms, &responses[group.response], cell)).collect()
        })
        .collect();
    let found = stats::overall(&inputs, settings);
    groups.iter().zip(found).filter_map(|(group, found)| conclude(group, found, arms)).collect()
}

fn groups(all: &[Cell]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for cell in all {
        let is_of = |group: &&mut Group| group.arm == cell.arm && group.response == cell.response;
        match groups.iter_mut().find(is_of) {
            Some(group) => group.cells.push(cell),
            None => {
                groups.push(Group { arm: cell.arm, response: &cell.response, cells: vec![cell] })
            }
        }
    }
    for group in &mut groups {
        let parts = group.cells.iter().any(|cell| cell.part.is_some());
        let has_ratio = |cell: &Cell| cell.ratio().is_some_and(|it| it.is_finite() && it > 0.0);
        group.cells.retain(|cell| cell.part.is_some() == parts && has_ratio(cell));
    }
    groups.retain(|group| group.cells.len() > 1);
    groups
}

/// The trials of a cell with their costs, in pairs where the cell has pairs.
fn input(arms: &Arms, response: &Response, cell: &Cell) -> OverallCell {
    let key = |trial: &Trial| match cell.paired_by {
        Some(PairedBy::Seed) => trial.seed,
        Some(PairedBy::Block) => trial.block,
        None => None,
    };
    let side = |arm: &ArmTrials| -> Vec<(Option<u64>, TrialCost)> {
        let trials = arm.trials.iter().enumerate();
        let here = trials.filter(|(_, trial)| {
            trial.standing() == Standing::Counts && arms.place(trial) == cell.levels
        });
        here.filter_map(|(number, trial)| {
            let samples = trial.samples(cell.part.as_deref(), &cell.response)?;
            let costs = cells::costs(&cell.response, response, &[bounded_median(samples)?]);
            // A bound counts as a value here; what it could move is taken back by `doubt`.
            Some((key(trial), TrialCost { trial: number, cost: costs[0].value }))
        })
        .collect()
    };
    let (mut first, mut second) = (side(&arms.all[0]), side(&arms.all[cell.arm]));
    if cell.paired_by.is_some() {
        let in_both = |one: &(Option<u64>, TrialCost), other: &[(Option<u64>, TrialCost)]| {
            other.iter().any(|(key, _)| *key == one.0)
        };
        let all = second.clone();
        first.retain(|one| in_both(one, &all));
        second.retain(|one| in_both(one, &first));
        first.sort_by_key(|(key, _)| *key);
        second.sort_by_key(|(key, _)| *key);
    }
    let costs =
        |side: Vec<(Option<u64>, TrialCost)>| side.into_iter().map(|(_, one)| one).collect();
    OverallCell {
        ratio: cell.ratio().unwrap_or(f64::NAN),
        first: costs(first),
        second: costs(second),
        pairing: if cell.paired_by.is_some() { Pairing::Paired } else { Pairing::Unpaired },
    }
}

fn conclude(
    group: &Group,
    found: Result<OverallEffect, stats::OverallError>,
    arms: &Arms,
) -> Option<Overall> {
    let ratios: Vec<f64> = group.cells.iter().filter_map(|cell| cell.ratio()).collect();
    let mean = geometric_mean(&ratios)?;
    let without = |left: stats::LeftOut| (group.cells[left.index].label(), left.ratio);
    let (mut verdict, effect, mut reason) = match found {
        Ok(effect) => {
            let why = effect.why.map(|why| not_decided(why).to_owned());
            (effect.verdict, Some(Box::new(effect)), why)
        }
        Err(error) => (Verdict::CannotTell, None, Some(error.to_string())),
    };
    if let Some(doubt) = doubt(group, verdict, arms) {
        (verdict, reason) = (Verdict::CannotTell, Some(doubt));
    }
    Some(Overall {
        arm: group.arm,
        response: group.response.to_owned(),
        cells: ratios.len(),
        ratio: mean.ratio,
        ratio_mark: ratio_mark(&group.cells),
        lowest_without: without(mean.lowest?),
        highest_without: without(mean.highest?),
        verdict,
        effect,
        reason,
    })
}

fn ratio_mark(cells: &[&Cell]) -> &'static str {
    let has = |mark: &str| cells.iter().any(|cell| cell.ratio_mark() == mark);
    match (has("≥ "), has("≤ ")) {
        (true, true) => "≶ ",
        (true, false) => "≥ ",
        (false, true) => "≤ ",
        (false, false) => "",
    }
}

fn not_decided(why: NotDecided) -> &'static str {
    match why {
        NotDecided::TooFewValues => "too few values",
        NotDecided::IntervalIncludesOne => "the interval includes 1 and more than the margin",
        NotDecided::NotAmongSoMany => "the difference is not sure among so many overall effects",
        NotDecided::MarginInsideInterval => "a difference, but perhaps within the margin",
        NotDecided::BoundsDecide => "lower bounds leave it open",
    }
}

/// Why a verdict does not hold: values that decide a cell are lower bounds that could move it, or
/// the kernel's tick hides smaller differences.
fn doubt(group: &Group, verdict: Verdict, arms: &Arms) -> Option<String> {
    let bound = |arm: &ArmTrials| {
        arm.trials.iter().any(|trial| {
            let mut here = group.cells.iter().filter(|cell| arms.place(trial) == cell.levels);
            // A place where all trials failed has no cell.
            trial.standing() == Standing::Failed
                || here.any(|cell| {
                    let samples = trial.samples(cell.part.as_deref(), &cell.response);
                    samples.and_then(bounded_median).is_some_and(|median| median.is_lower_bound)
                })
        })
    };
    let (first, second) = (&arms.all[0], &arms.all[group.arm]);
    let moved = match verdict {
        Verdict::Regression => bound(first),
        Verdict::Improvement => bound(second),
        Verdict::Equivalent => bound(first) || bound(second),
        Verdict::CannotTell => false,
    };
    if moved {
        return Some(
            "some trials failed or have lower bounds only, which could move it".to_owned(),
        );
    }
    let hidden =
        verdict == Verdict::Equivalent && group.cells.iter().any(|cell| ticks::hides(cell));
    hidden.then(|| "the kernel's tick hides a difference of the margin in some cells".to_owned())
}
