//! Effects and their intervals: sums of predicted cell means with weights.

use serde::Serialize;

use super::model::Model;
use super::{Factorial, Noise, Scale};
use crate::least_squares::{Design, LeastSquares, dot, quadratic_form};

/// An estimate: of a ratio on the log scale, of a difference on the additive one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Low and high end of its interval (Student's t); absent without residual degrees of freedom.
    pub interval: Option<(f64, f64)>,
    /// F of "no effect" with one degree of freedom (the square of t); absent without noise.
    pub f: Option<f64>,
    /// Probability of so large an F without an effect.
    pub p: Option<f64>,
}

/// A level against the reference of its factor, averaged over the other factors' levels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MainEffect {
    /// The factor.
    pub factor: String,
    /// The level.
    pub level: String,
    /// The reference.
    pub against: String,
    /// Level over, or minus, reference.
    pub figure: Estimate,
}

/// A level against the reference of its factor with the other factors held.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimpleEffect {
    /// The factor that moves, from its reference.
    pub factor: String,
    /// Levels of all factors after the move, in their order.
    pub cell: Vec<String>,
    /// One cell over, or minus, the other.
    pub figure: Estimate,
}

/// The effect of one factor at a level of another, against that at the other's reference: a ratio
/// of ratios or a difference of differences.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InteractionContrast {
    /// The two factors, in their order.
    pub factors: (String, String),
    /// Their levels; the references are what these are compared with.
    pub levels: (String, String),
    /// 1 (log) or 0 (additive) is "no interaction".
    pub figure: Estimate,
}

/// One combination of levels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellMean {
    /// Levels of all factors, in their order.
    pub levels: Vec<String>,
    /// Observations in the cell.
    pub count: usize,
    /// Their mean: geometric on the log scale, arithmetic on the additive one; absent in an empty
    /// cell.
    pub mean: Option<f64>,
    /// What the model expects in the average block.
    pub fitted: f64,
}

/// Turns weights of cells into estimates.
pub(super) struct Estimator<'a> {
    pub(super) model: &'a Model<'a>,
    pub(super) design: &'a Design,
    pub(super) fit: &'a LeastSquares,
    pub(super) noise: Noise,
    pub(super) scale: Scale,
    /// Student's t of the confidence; absent without residual degrees of freedom.
    pub(super) t: Option<f64>,
    pub(super) cells: Vec<Vec<usize>>,
}

impl Estimator<'_> {
    pub(super) fn main_effects(&self) -> Vec<MainEffect> {
        let mut effects = Vec::new();
        for (factor, names) in self.model.data.factors.iter().enumerate() {
            for level in 1..names.levels.len() {
                let figure = self.average(2.0, |cell| sign(cell[factor], level));
                effects.push(MainEffect {
                    factor: names.name.clone(),
                    level: names.levels[level].clone(),
                    against: names.levels[0].clone(),
                    figure,
                });
            }
        }
        effects
    }

    pub(super) fn simple_effects(&self) -> Vec<SimpleEffect> {
        let mut effects = Vec::new();
        for (factor, names) in self.model.data.factors.iter().enumerate() {
            for cell in self.cells.iter().filter(|cell| cell[factor] > 0) {
                let mut reference = cell.clone();
                reference[factor] = 0;
                effects.push(SimpleEffect {
                    factor: names.name.clone(),
                    cell: self.model.level_names(cell),
                    figure: self.between(&reference, cell),
                });
            }
        }
        effects
    }

    /// Empty when the model has no interactions.
    pub(super) fn interactions(&self) -> Vec<InteractionContrast> {
        let mut contrasts = Vec::new();
        for term in &self.model.terms {
            let &[first, second] = term.factors.as_slice() else { continue };
            let [one, other] = [first, second].map(|factor| &self.model.data.factors[factor]);
            for i in 1..one.levels.len() {
                for j in 1..other.levels.len() {
                    let both = |cell: &[usize]| sign(cell[first], i) * sign(cell[second], j);
                    contrasts.push(InteractionContrast {
                        factors: (one.name.clone(), other.name.clone()),
                        levels: (one.levels[i].clone(), other.levels[j].clone()),
                        figure: self.average(4.0, both),
                    });
                }
            }
        }
        contrasts
    }

    pub(super) fn total(&self) -> Estimate {
        self.between(&self.cells[0], &self.cells[self.cells.len() - 1])
    }

    pub(super) fn cell_means(&self, data: &Factorial) -> Vec<CellMean> {
        let mean_of = |levels: &Vec<usize>| {
            let values: Vec<f64> = data
                .observations
                .iter()
                .filter(|observation| observation.levels == *levels)
                .map(|observation| self.scale.forward(observation.value))
                .collect();
            CellMean {
                levels: self.model.level_names(levels),
                count: values.len(),
                mean: crate::mean(&values).map(|mean| self.scale.back(mean)),
                fitted: self.scale.back(dot(&self.model.row(levels, None), &self.fit.coefficients)),
            }
        };
        self.cells.iter().map(mean_of).collect()
    }

    /// A contrast of averages: `corners` groups of cells, each of them averaged and added with the
    /// sign of its cells. Cells of sign 0 take no part.
    fn average(&self, corners: f64, sign: impl Fn(&[usize]) -> f64) -> Estimate {
        let signs: Vec<f64> = self.cells.iter().map(|cell| sign(cell)).collect();
        let per_corner = signs.iter().filter(|sign| **sign != 0.0).count() as f64 / corners;
        let mut weights = vec![0.0; self.fit.coefficients.len()];
        for (cell, sign) in self.cells.iter().zip(&signs) {
            let row = self.model.row(cell, None);
            weights.iter_mut().zip(row).for_each(|(sum, code)| *sum += sign / per_corner * code);
        }
        self.estimate(&weights)
    }

    fn between(&self, from: &[usize], to: &[usize]) -> Estimate {
        let (from, to) = (self.model.row(from, None), self.model.row(to, None));
        let weights: Vec<f64> = to.iter().zip(from).map(|(to, from)| to - from).collect();
        self.estimate(&weights)
    }

    fn estimate(&self, weights: &[f64]) -> Estimate {
        let value = dot(weights, &self.fit.coefficients);
        let shape = quadratic_form(&self.design.unscaled_covariance, weights);
        let (f, p) = self.noise.test(value * value / shape, 1);
        let interval = self.noise.variance.zip(self.t).map(|(variance, t)| {
            let half = t * (variance * shape).sqrt();
            (self.scale.back(value - half), self.scale.back(value + half))
        });
        Estimate { value: self.scale.back(value), interval, f, p }
    }
}

/// +1 at `level`, -1 at the reference, else 0.
fn sign(at: usize, level: usize) -> f64 {
    f64::from(u8::from(at == level)) - f64::from(u8::from(at == 0))
}
