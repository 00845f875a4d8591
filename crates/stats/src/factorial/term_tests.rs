//! Analysis of variance: what each term of the model takes off the residuals.

use serde::Serialize;

use super::effects::Estimator;
use super::model::Model;
use super::{Factorial, FactorialError, Noise};
use crate::least_squares::Design;

/// One line of the table of variance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TermTest {
    /// `compiler`, `compiler × system`, or `blocks`.
    pub name: String,
    /// Coefficients of the term.
    pub df: usize,
    /// What leaving the term out adds to the sum of squared residuals (type III).
    pub sum_of_squares: f64,
    /// Mean square of the term over that of the residuals; absent without noise.
    pub f: Option<f64>,
    /// Probability of so large an F without an effect.
    pub p: Option<f64>,
    /// Percentage of the response's sum of squares about its mean; these add to 100 with the
    /// residuals' in balanced data only, and are absent when nothing varied. A large effect makes
    /// all others look small here: read the effects first.
    pub percent: Option<f64>,
}

impl Estimator<'_> {
    /// All terms of the model, each tested against the noise.
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
}

/// The model that data can carry by default, for any number of transformed responses.
pub(crate) struct DefaultModel {
    pub(crate) design: Design,
    interactions: Vec<Vec<f64>>,
}

impl DefaultModel {
    pub(crate) fn of(data: &Factorial) -> Result<DefaultModel, FactorialError> {
        let model = Model::new(data, super::default_order(data)?)?;
        let design = model.design()?;
        let interactions = model.terms.iter().filter(|term| term.factors.len() > 1);
        let interactions = model.directions(&design, interactions)?;
        Ok(DefaultModel { design, interactions })
    }

    /// Joint F of all interactions against the residuals of the full model; absent without noise
    /// or without interactions.
    pub(crate) fn interaction_f(&self, y: &[f64]) -> Option<f64> {
        if self.interactions.is_empty() {
            return None;
        }
        let full = self.design.solve(y);
        let noise = Noise::of(&full, y, self.design.residual_df);
        noise.test(full.extra_ss(&self.interactions), self.interactions.len()).0
    }

    /// Residual sum of squares.
    pub(crate) fn residual_ss(&self, y: &[f64]) -> f64 {
        Noise::of(&self.design.solve(y), y, self.design.residual_df).residual_ss
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
