//! The variance of an overall effect when trials and the arm × cell term are random.
//!
//! docs/comparing.md has the formulas. Degrees of freedom are Satterthwaite's (1946).

use std::collections::BTreeMap;

use super::{OverallCell, TrialCost};
use crate::Pairing;
use crate::t_intervals::{LogRatio, NO_SPREAD};
use crate::{Refused, refused};

pub(super) struct Effect {
    /// Natural logarithm of the ratio.
    pub(super) log: f64,
    pub(super) cells: usize,
    pub(super) trials: usize,
    variance: f64,
    degrees_of_freedom: f64,
}

impl Effect {
    pub(super) fn log_ratio(&self, confidence: f64) -> Option<LogRatio> {
        let error = self.variance.sqrt();
        let judged = error > NO_SPREAD && self.degrees_of_freedom > 0.0;
        judged.then(|| LogRatio::new(self.log, error, self.degrees_of_freedom, confidence))?
    }
}

/// The logarithms of one cell in one arm, or of its pairs' ratios.
pub(super) type Logs = Vec<(usize, f64)>;

/// The cells of each arm, or of the pairs.
pub(super) fn arms(cells: &[OverallCell]) -> Vec<Vec<Logs>> {
    let logs = |side: &[TrialCost]| side.iter().map(|one| (one.trial, one.cost.ln())).collect();
    let ratios = |cell: &OverallCell| {
        let pairs = cell.first.iter().zip(&cell.second);
        pairs.map(|(one, two)| (one.trial, (two.cost / one.cost).ln())).collect()
    };
    match cells[0].pairing {
        Pairing::Paired => vec![cells.iter().map(ratios).collect()],
        Pairing::Unpaired => vec![
            cells.iter().map(|cell| logs(&cell.first)).collect(),
            cells.iter().map(|cell| logs(&cell.second)).collect(),
        ],
    }
}

/// Cells of an arm that share trials, as lists of their numbers.
pub(super) fn components(cells: &[Logs]) -> Vec<Vec<usize>> {
    let mut component: Vec<usize> = (0..cells.len()).collect();
    let mut first_cell: BTreeMap<usize, usize> = BTreeMap::new();
    for (cell, logs) in cells.iter().enumerate() {
        for (trial, _) in logs {
            let other = *first_cell.entry(*trial).or_insert(cell);
            let (from, to) = (component[cell], component[other]);
            component.iter_mut().filter(|one| **one == from).for_each(|one| *one = to);
        }
    }
    let mut grouped: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (cell, name) in component.into_iter().enumerate() {
        grouped.entry(name).or_default().push(cell);
    }
    grouped.into_values().collect()
}

pub(super) fn estimate(cells: &[OverallCell]) -> Result<Effect, Refused> {
    check(cells)?;
    let count = cells.len() as f64;
    let ratios: Vec<f64> = cells.iter().map(|cell| cell.ratio.ln()).collect();
    let arms = arms(cells);
    let mut trials = Trials::default();
    for arm in &arms {
        trials.add(arm, count)?;
    }
    let cell = |index: usize| arms.iter().map(move |arm| variance_of_mean(&arm[index]));
    let spread: f64 = (0..cells.len()).flat_map(cell).sum();
    let between = crate::standard_deviation(&ratios).map_or(0.0, |spread| spread * spread);
    let explained = ((spread - count * trials.variance) / (count - 1.0)).max(0.0);
    let excess = (between - explained).max(0.0) / count;
    let variance = trials.variance + excess;
    let degrees_of_freedom = if excess > 0.0 {
        let of_cells = between / count;
        let of_trials = (variance - of_cells).max(0.0);
        let of_trials = of_trials * of_trials * trials.inverse_degrees();
        variance * variance / (of_cells * of_cells / (count - 1.0) + of_trials)
    } else {
        1.0 / trials.inverse_degrees()
    };
    Ok(Effect {
        log: ratios.iter().sum::<f64>() / count,
        cells: cells.len(),
        trials: trials.count,
        variance,
        degrees_of_freedom,
    })
}

fn check(cells: &[OverallCell]) -> Result<(), Refused> {
    if cells.len() < 2 {
        return refused("one cell is its own verdict: an effect over all takes two");
    }
    for cell in cells {
        let costs = cell.first.iter().chain(&cell.second).map(|one| one.cost);
        let bad = |value: &f64| !(value.is_finite() && *value > 0.0);
        if let Some(value) = costs.chain([cell.ratio]).find(bad) {
            return refused(format!("the value {value} has no ratio: costs must be above 0"));
        }
        let unequal = cell.pairing == Pairing::Paired && cell.first.len() != cell.second.len();
        if cell.first.is_empty() || cell.second.is_empty() || unequal {
            return refused("a cell has no trials to judge by");
        }
    }
    Ok(())
}

/// The trials' part of the variance, from groups of trials that share no cell.
#[derive(Default)]
struct Trials {
    variance: f64,
    /// Σ V² / df over the groups.
    squares: f64,
    count: usize,
}

impl Trials {
    /// Adds the trials of one arm.
    fn add(&mut self, arm: &[Logs], count: f64) -> Result<(), Refused> {
        for component in components(arm) {
            let mut shares: BTreeMap<usize, f64> = BTreeMap::new();
            let mut known = 0;
            for logs in component.iter().map(|cell| &arm[*cell]) {
                let n = logs.len() as f64;
                let mean = logs.iter().map(|(_, log)| log).sum::<f64>() / n;
                known += usize::from(logs.len() > 1);
                for (trial, log) in logs {
                    let scale = if logs.len() > 1 { (n / (n - 1.0)).sqrt() } else { 0.0 };
                    *shares.entry(*trial).or_insert(0.0) += (log - mean) * scale / (count * n);
                }
            }
            self.count += shares.len();
            if component.len() > 1 && shares.len() < 2 {
                return refused(
                    "each cell has a single trial: variation between trials is unknown",
                );
            }
            if known > 0 {
                // Cells with a single value of the arm are assumed to vary like the others.
                let scale = component.len() as f64 / known as f64;
                let variance = shares.values().map(|share| share * share).sum::<f64>();
                let variance = variance * scale * scale;
                self.variance += variance;
                self.squares += variance * variance / (shares.len() as f64 - 1.0);
            }
        }
        Ok(())
    }

    /// 1 / df by Satterthwaite; without spread there is no limit to df.
    fn inverse_degrees(&self) -> f64 {
        match self.variance {
            0.0 => 0.0,
            variance => self.squares / (variance * variance),
        }
    }
}

/// s² / n, 0 of a single value.
fn variance_of_mean(logs: &Logs) -> f64 {
    let values: Vec<f64> = logs.iter().map(|(_, log)| *log).collect();
    let spread = crate::standard_deviation(&values).unwrap_or(0.0);
    spread * spread / values.len() as f64
}
