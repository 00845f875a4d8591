//! Simulated experiments of many cells, judged as a whole.

use stats::{OverallCell, OverallEffect, Pairing, Settings, TrialCost, Verdict, overall};

use crate::shapes::Source;

/// An experiment whose truth is known. Spreads are standard deviations of logarithms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Design {
    pub(crate) cells: usize,
    /// Trials a side.
    pub(crate) trials: usize,
    pub(crate) pairing: Pairing,
    /// The true geometric mean of the ratios of all cells that there might be.
    pub(crate) ratio: f64,
    /// How far a cell's own true ratio is from that.
    pub(crate) by_cell: f64,
    /// How far trials of one cell are from each other; odd cells spread three times as far.
    pub(crate) by_trial: f64,
    /// How far trials are from each other that have all cells; 0 = each cell has its own trials.
    pub(crate) shared: f64,
}

fn experiment(design: &Design, source: &mut Source) -> OverallEffect {
    let mut spread = |by: f64| (by * source.normal()).exp();
    let common: Vec<f64> = (0..2 * design.trials).map(|_| spread(design.shared)).collect();
    let cell = |number: usize| {
        let ratio = design.ratio * spread(design.by_cell);
        let wide = if number % 2 == 1 { 3.0 } else { 1.0 };
        let mut side = |arm: usize, ratio: f64| -> Vec<TrialCost> {
            let trial = |trial: usize| TrialCost {
                trial: if design.shared > 0.0 { trial } else { 1_000 * number + trial },
                cost: ratio * common[arm * design.trials + trial] * spread(wide * design.by_trial),
            };
            (0..design.trials).map(trial).collect()
        };
        let (first, second) = (side(0, 1.0), side(1, ratio));
        let mean = |side: &[TrialCost]| {
            side.iter().map(|one| one.cost.ln()).sum::<f64>() / side.len() as f64
        };
        let ratio = (mean(&second) - mean(&first)).exp();
        OverallCell { ratio, first, second, pairing: design.pairing }
    };
    let cells: Vec<OverallCell> = (0..design.cells).map(cell).collect();
    overall(&[cells], &Settings::default()).remove(0).expect("two cells or more")
}

/// How often the interval contains the true ratio, and how often a regression is found.
pub(crate) fn joint(design: &Design, experiments: u32) -> (f64, f64) {
    let mut source = Source::new(17);
    let (mut covered, mut regressions) = (0, 0);
    for _ in 0..experiments {
        let found = experiment(design, &mut source);
        // An equivalence narrows the interval on purpose: 1 - 2 α.
        let inside = match (found.mixed, found.verdict) {
            (Some(mixed), Verdict::Equivalent) => {
                mixed.low <= design.ratio && design.ratio <= mixed.high
            }
            _ => found.low <= design.ratio && design.ratio <= found.high,
        };
        covered += u32::from(inside);
        regressions += u32::from(found.verdict == Verdict::Regression);
    }
    let share = |count: u32| f64::from(count) / f64::from(experiments);
    (share(covered), share(regressions))
}
