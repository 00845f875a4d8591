//! Effects and their intervals, as sums of predicted cell means with weights; analysis of variance.

use serde::Serialize;

use super::model::Model;
use super::{Factorial, FactorialError, Noise, Scale};
use crate::least_squares::{Design, LeastSquares, dot, quadratic_form};

/// An estimate: of a ratio on the log scale, of a difference on the additive one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its interval (Student's t); absent without residual degrees of freedom.
    pub interval: Option<(f64, f64)>,
    /// F (the square of t) of "no effect"; absent without noise.
    pub f: Option<f64>,
    /// Probability of an F at least this large without an effect.
    pub p: Option<f64>,
}

/// A level against its factor's reference, averaged over the other factors' levels.
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

/// A level against its factor's reference, all other factors held.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimpleEffect {
    /// The changed factor, from its reference.
    pub factor: String,
    /// Levels of all factors after the change.
    pub cell: Vec<String>,
    /// One cell over, or minus, the other.
    pub figure: Estimate,
}

/// How a factor's effect at a level of another differs from that at the other's reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InteractionContrast {
    /// The two factors, in order.
    pub factors: (String, String),
    /// Their levels, compared with the references.
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
    /// Their mean, geometric on the log scale; absent in an empty cell.
    pub mean: Option<f64>,
    /// Prediction for the average block.
    pub fitted: f64,
}

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

    pub(super) fn terms(&self, total_ss: f64) -> Result<Vec<TermTest>, FactorialError> {
        let test = |term| {
            let directions = self.model.directions(self.design, std::iter::once(term))?;
            let sum_of_squares = self.fit.extra_ss(&directions);
            let df = term.columns.len();
            let (f, p) = self.noise.test(sum_of_squares, df);
            let percent = (total_ss > 0.0).then(|| 100.0 * sum_of_squares / total_ss);
            let name = self.model.name(term).unwrap_or_else(|| "blocks".to_owned());
            Ok(TermTest { name, df, sum_of_squares, f, p, percent })
        };
        self.model.terms.iter().map(test).collect()
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

    /// A contrast of the averages of `corners` groups of cells with a sign other than 0.
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

/// One line of the variance table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TermTest {
    /// `compiler`, `compiler × system`, or `blocks`.
    pub name: String,
    /// Coefficients of the term.
    pub df: usize,
    /// What omitting the term adds to the sum of squared residuals (type III).
    pub sum_of_squares: f64,
    /// Mean square of the term over that of the residuals; absent without noise.
    pub f: Option<f64>,
    /// Probability of an F at least this large without an effect.
    pub p: Option<f64>,
    /// Percentage of the response's sum of squares about its mean; absent when nothing varied.
    /// Only in balanced data do these and the residuals' add to 100.
    pub percent: Option<f64>,
}

/// The default model, for any number of transformed responses.
pub(crate) struct DefaultModel {
    pub(crate) design: Design,
    interactions: Vec<Vec<f64>>,
}

impl DefaultModel {
    pub(crate) fn new(data: &Factorial) -> Result<DefaultModel, FactorialError> {
        let model = Model::new(data, super::default_order(data)?)?;
        let design = model.design()?;
        let interactions = model.terms.iter().filter(|term| term.factors.len() > 1);
        let interactions = model.directions(&design, interactions)?;
        Ok(DefaultModel { design, interactions })
    }

    /// Joint F of all interactions against the residuals of the full model; absent without either.
    pub(crate) fn interaction_f(&self, y: &[f64]) -> Option<f64> {
        if self.interactions.is_empty() {
            return None;
        }
        let full = self.design.solve(y);
        let noise = Noise::new(&full, y, self.design.residual_df);
        noise.test(full.extra_ss(&self.interactions), self.interactions.len()).0
    }

    pub(crate) fn residual_ss(&self, y: &[f64]) -> f64 {
        Noise::new(&self.design.solve(y), y, self.design.residual_df).residual_ss
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::{Factor, FactorialTrial, Scale, fit_to_order};
    use super::*;
    use crate::design::full_factorial;

    /// Every combination of levels once in a first block, and any others in any of four blocks:
    /// unbalanced, with nothing aliased.
    fn unbalanced() -> impl Strategy<Value = Factorial> {
        let more = vec((any::<usize>(), 0..4_usize), 0..40);
        let values = vec(0.5..50.0_f64, 27 + 40);
        (vec(2..=3_usize, 1..=3), more, values).prop_map(|(counts, more, values)| {
            let cells = full_factorial(&counts);
            let first = cells.iter().map(|cell| (cell.clone(), 0));
            let more =
                more.into_iter().map(|(any, block)| (cells[any % cells.len()].clone(), block));
            let observation = |((levels, block), value): ((Vec<usize>, usize), f64)| {
                FactorialTrial { levels, block: Some(block), value }
            };
            let factor = |levels: &usize| Factor {
                name: "factor".to_owned(),
                levels: (0..*levels).map(|level| level.to_string()).collect(),
            };
            Factorial {
                factors: counts.iter().map(factor).collect(),
                observations: first.chain(more).zip(values).map(observation).collect(),
            }
        })
    }

    /// What leaving columns out adds to the squared residuals, by another fit without them.
    fn by_refit(model: &Model<'_>, y: &[f64], left_out: impl Fn(usize) -> bool) -> f64 {
        let rows = model.rows();
        let keep = |row: &Vec<f64>| {
            (0..row.len()).filter(|column| !left_out(*column)).map(|column| row[column]).collect()
        };
        let kept: Vec<Vec<f64>> = rows.iter().map(keep).collect();
        let solved = |rows: &[Vec<f64>]| Design::new(rows).unwrap().solve(y).residual_ss;
        solved(&kept) - solved(&rows)
    }

    proptest! {
        #[test]
        fn a_term_adds_what_a_fit_without_it_lacks(data in unbalanced(), order in 1..=3_usize) {
            let found = fit_to_order(&data, Scale::Additive, 0.95, order).unwrap();
            let model = Model::new(&data, order).unwrap();
            let y: Vec<f64> = data.observations.iter().map(|each| each.value).collect();
            let whole: f64 = y.iter().map(|value| value * value).sum();
            // A refit takes the difference of two large figures.
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a + 1e-13 * whole;
            prop_assert_eq!(found.terms.len(), model.terms.len());
            for (test, term) in found.terms.iter().zip(&model.terms) {
                let refit = by_refit(&model, &y, |column| term.columns.contains(&column));
                prop_assert!(close(test.sum_of_squares, refit), "{:?}, refit {}", test, refit);
            }
            let design = model.design().unwrap();
            let several = model.terms.iter().filter(|term| term.factors.len() != 1);
            let together = model.directions(&design, several.clone()).unwrap();
            let together = design.solve(&y).extra_ss(&together);
            let refit = by_refit(&model, &y, |column| {
                several.clone().any(|term| term.columns.contains(&column))
            });
            prop_assert!(close(together, refit), "{}, refit {}", together, refit);
        }
    }
}
