//! The primary estimate of a comparison: one effect of an arm over all its cells.
//!
//! To avoid selection, all cells of a response with a ratio count once ([`stats::overall`]), but
//! no wholes next to parts. A trial counts by its median in each cell, as one trial in all of them.

use std::collections::BTreeMap;

use serde::Serialize;
use stats::{
    NotDecided, OverallCell, OverallEffect, Settings, Verdict, bounded_median, geometric_mean,
};

use super::Cell;
use super::arms::Arms;
use super::direction::without_direction;
use super::sessions;
use crate::{Response, Standing, grouped};

/// The effect of an arm on a response over all its cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overall {
    /// Index of the arm.
    pub arm: usize,
    /// The response.
    pub response: String,
    /// Number of cells.
    pub cells: usize,
    /// Geometric mean of their ratios.
    pub ratio: f64,
    /// `≥ `, `≤ ` or, in both directions, `≶ ` if censored values leave it open, else nothing.
    pub ratio_mark: &'static str,
    /// The cell without which the mean is lowest, and that mean.
    pub lowest_without: (String, f64),
    /// The cell without which the mean is highest, and that mean.
    pub highest_without: (String, f64),
    /// What was found.
    pub verdict: Verdict,
    /// Interval and tests.
    pub effect: Option<Box<OverallEffect>>,
    /// Why there are none, or no verdict.
    pub reason: Option<String>,
}

impl Overall {
    /// Its cells in words: `both cells`, `all 10 cells`.
    pub fn over(&self) -> String {
        match self.cells {
            2 => "both cells".to_owned(),
            several => format!("all {several} cells"),
        }
    }
}

pub(super) struct UnjudgedCell {
    pub(super) cell: Cell,
    /// The costs to test, if any.
    pub(super) test: Option<stats::Arms>,
    /// Its trials for the effect over all cells, the ratio still unknown.
    pub(super) trials: OverallCell,
}

/// The effects of every arm and response with at least two cells that have a ratio.
pub(super) fn overall(
    arms: &Arms,
    all: &[UnjudgedCell],
    responses: &BTreeMap<String, Response>,
    settings: &Settings,
) -> Vec<Overall> {
    let effect = |draft: &UnjudgedCell| (draft.cell.arm, draft.cell.response.clone());
    let (mut inputs, mut groups) = (Vec::new(), Vec::new());
    for (_, mut group) in grouped(all.iter().map(|draft| (effect(draft), draft))) {
        let parts = group.iter().any(|draft| draft.cell.part.is_some());
        let has_ratio = |cell: &Cell| cell.ratio().is_some_and(|it| it.is_finite() && it > 0.0);
        group.retain(|UnjudgedCell { cell, .. }| cell.part.is_some() == parts && has_ratio(cell));
        let cells: Vec<&Cell> = group.iter().map(|draft| &draft.cell).collect();
        if cells.len() > 1 {
            let ratios = cells.iter().filter_map(|cell| cell.ratio());
            let trials = group.iter().map(|draft| draft.trials.clone()).zip(ratios);
            inputs.push(trials.map(|(trials, ratio)| OverallCell { ratio, ..trials }).collect());
            groups.push(cells);
        }
    }
    let found = groups.into_iter().zip(stats::overall(&inputs, settings));
    let concluded = found.filter_map(|(cells, found)| conclude(cells, found, arms));
    let with_direction = |mut overall: Overall| {
        let direction = responses[&overall.response].direction;
        overall.verdict = without_direction(overall.verdict, direction);
        overall
    };
    concluded.map(with_direction).collect()
}

fn conclude(
    cells: Vec<&Cell>,
    found: Result<OverallEffect, crate::Refused>,
    arms: &Arms,
) -> Option<Overall> {
    let ratios: Vec<f64> = cells.iter().filter_map(|cell| cell.ratio()).collect();
    let mean = geometric_mean(&ratios)?;
    let without = |left: stats::LeftOut| (cells[left.index].label(), left.ratio);
    let has = |mark: &str| cells.iter().any(|cell| cell.ratio_mark() == mark);
    let (mut verdict, effect, mut reason) = match found {
        Ok(effect) => {
            let why = effect.why.map(|why| not_decided(why).to_owned());
            (effect.verdict, Some(Box::new(effect)), why)
        }
        Err(error) => (Verdict::CannotTell, None, Some(error.to_string())),
    };
    if effect.is_none() && sessions::remark(arms).is_some() {
        reason = Some("one session a side: variation between sessions is unknown".to_owned());
    }
    if let Some(doubt) = doubt(&cells, verdict, arms) {
        (verdict, reason) = (Verdict::CannotTell, Some(doubt.to_owned()));
    }
    Some(Overall {
        arm: cells[0].arm,
        response: cells[0].response.clone(),
        cells: ratios.len(),
        ratio: mean.ratio,
        ratio_mark: match (has("≥ "), has("≤ ")) {
            (true, true) => "≶ ",
            (true, false) => "≥ ",
            (false, true) => "≤ ",
            (false, false) => "",
        },
        lowest_without: without(mean.lowest?),
        highest_without: without(mean.highest?),
        verdict,
        effect,
        reason,
    })
}

fn not_decided(why: NotDecided) -> &'static str {
    match why {
        NotDecided::TooFewValues => "too few values",
        NotDecided::IntervalIncludesOne => "the interval includes 1 and more than the margin",
        NotDecided::NotAmongSoMany => {
            "the difference is not certain among that many overall effects"
        }
        NotDecided::MarginInsideInterval => "a difference, but perhaps within the margin",
        NotDecided::BoundsDecide => "lower bounds leave it open",
    }
}

/// Why a verdict does not hold: deciding values are bounds, or the tick hides smaller differences.
fn doubt(cells: &[&Cell], verdict: Verdict, arms: &Arms) -> Option<&'static str> {
    let bound = |arm: usize| {
        arms.all[arm].trials.iter().any(|trial| {
            let mut here = cells.iter().filter(|cell| arms.place(trial) == cell.levels);
            // A place without successful trials has no cell.
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
        Verdict::Equivalent | Verdict::Difference => bound(first) || bound(second),
        Verdict::CannotTell => false,
    };
    if moved {
        return Some("some trials failed or have lower bounds only, which could move it");
    }
    let hidden = verdict == Verdict::Equivalent && cells.iter().any(|cell| cell.tick_hides());
    hidden.then_some("the kernel's tick hides a difference of the margin in some cells")
}
