//! The primary estimate of a comparison: one effect of an arm over all its cells.
//!
//! It is declared before anything is seen, so no cell is chosen: of every arm and response, all
//! cells with a ratio, each counting once ([`stats::overall`]). Where there are parts the wholes
//! are left out, since they consist of them.
//!
//! Every trial counts by its median in each cell. A trial that is in several cells (the commands of
//! one session) is one trial in all of them.

use serde::Serialize;
use stats::{
    NotDecided, OverallCell, OverallEffect, Settings, Verdict, bounded_median, geometric_mean,
};

use super::Cell;
use super::arms::Arms;
use crate::{Standing, grouped};

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
    pub fn over(&self) -> String {
        match self.cells {
            2 => "both cells".to_owned(),
            several => format!("all {several} cells"),
        }
    }
}

/// A cell before it is judged.
pub(super) struct Draft {
    pub(super) cell: Cell,
    /// The costs to judge it by; `None` if there is nothing to judge.
    pub(super) test: Option<stats::Arms>,
    /// Its trials for the effect over all cells; the ratio comes with the verdict.
    pub(super) trials: OverallCell,
}

/// The effects of every arm and response with at least two cells that have a ratio, judged together.
pub(super) fn overall(arms: &Arms, all: &[Draft], settings: &Settings) -> Vec<Overall> {
    let groups = groups(all);
    let of_cell = |draft: &&Draft| OverallCell {
        ratio: draft.cell.ratio().unwrap_or(f64::NAN),
        ..draft.trials.clone()
    };
    let inputs: Vec<Vec<OverallCell>> =
        groups.iter().map(|group| group.iter().map(of_cell).collect()).collect();
    let found = stats::overall(&inputs, settings);
    let cells = groups.iter().map(|group| group.iter().map(|draft| &draft.cell).collect());
    cells.zip(found).filter_map(|(cells, found)| conclude(cells, found, arms)).collect()
}

/// The cells of each effect.
fn groups(all: &[Draft]) -> Vec<Vec<&Draft>> {
    let effect = |draft: &Draft| (draft.cell.arm, draft.cell.response.clone());
    let groups = grouped(all.iter().map(|draft| (effect(draft), draft))).into_iter();
    let mut groups: Vec<Vec<&Draft>> = groups.map(|(_, group)| group).collect();
    for group in &mut groups {
        let parts = group.iter().any(|draft| draft.cell.part.is_some());
        let has_ratio = |cell: &Cell| cell.ratio().is_some_and(|it| it.is_finite() && it > 0.0);
        group.retain(|Draft { cell, .. }| cell.part.is_some() == parts && has_ratio(cell));
    }
    groups.retain(|group| group.len() > 1);
    groups
}

fn conclude(
    cells: Vec<&Cell>,
    found: Result<OverallEffect, crate::Refused>,
    arms: &Arms,
) -> Option<Overall> {
    let ratios: Vec<f64> = cells.iter().filter_map(|cell| cell.ratio()).collect();
    let mean = geometric_mean(&ratios)?;
    let without = |left: stats::LeftOut| (cells[left.index].label(), left.ratio);
    let (mut verdict, effect, mut reason) = match found {
        Ok(effect) => {
            let why = effect.why.map(|why| not_decided(why).to_owned());
            (effect.verdict, Some(Box::new(effect)), why)
        }
        Err(error) => (Verdict::CannotTell, None, Some(error.to_string())),
    };
    if let Some(doubt) = doubt(&cells, verdict, arms) {
        (verdict, reason) = (Verdict::CannotTell, Some(doubt.to_owned()));
    }
    Some(Overall {
        arm: cells[0].arm,
        response: cells[0].response.clone(),
        cells: ratios.len(),
        ratio: mean.ratio,
        ratio_mark: ratio_mark(&cells),
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
fn doubt(cells: &[&Cell], verdict: Verdict, arms: &Arms) -> Option<&'static str> {
    let bound = |arm: usize| {
        arms.all[arm].trials.iter().any(|trial| {
            let mut here = cells.iter().filter(|cell| arms.place(trial) == cell.levels);
            // A place where all trials failed has no cell.
            trial.standing() == Standing::Failed
                || here.any(|cell| {
                    let samples = trial.samples(cell.part.as_deref(), &cell.response);
                    samples.and_then(bounded_median).is_some_and(|median| median.is_lower_bound)
                })
        })
    };
    let (first, second) = (0, cells[0].arm);
    let moved = match verdict {
        Verdict::Regression => bound(first),
        Verdict::Improvement => bound(second),
        Verdict::Equivalent => bound(first) || bound(second),
        Verdict::CannotTell => false,
    };
    if moved {
        return Some("some trials failed or have lower bounds only, which could move it");
    }
    let hidden = verdict == Verdict::Equivalent && cells.iter().any(|cell| cell.tick_hides());
    hidden.then_some("the kernel's tick hides a difference of the margin in some cells")
}
