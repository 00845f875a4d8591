//! Analysis of variance: what each term of the model takes off the residuals.

use super::model::Model;
use super::{Factorial, FactorialError, Noise};
use crate::least_squares;

/// One line of the table of variance.
#[derive(Clone, Debug, PartialEq)]
pub struct TermTest {
    /// Indices of the factors: one for a main effect, more for an interaction, none for blocks.
    pub factors: Vec<usize>,
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

/// All terms of `model`, each tested against `noise`.
pub(super) fn all(
    model: &Model<'_>,
    y: &[f64],
    noise: Noise,
    total_ss: f64,
) -> Result<Vec<TermTest>, FactorialError> {
    let full_ss = model.solve(y)?.residual_ss;
    let rows = model.rows();
    let test = |term: &super::model::Term| {
        let sum_of_squares = residual_ss_without(&rows, y, |column| term.columns.contains(&column));
        let sum_of_squares = (sum_of_squares - full_ss).max(0.0);
        let df = term.columns.len();
        let (f, p) = noise.test(sum_of_squares, df);
        let percent = (total_ss > 0.0).then(|| 100.0 * sum_of_squares / total_ss);
        TermTest { factors: term.factors.clone(), df, sum_of_squares, f, p, percent }
    };
    Ok(model.terms().iter().map(test).collect())
}

/// Joint F of all interactions against the residuals of the full model; absent without noise or
/// without interactions.
pub(crate) fn interaction_f(data: &Factorial, y: &[f64]) -> Result<Option<f64>, FactorialError> {
    let model = Model::new(data, super::default_order(data)?)?;
    let full = model.solve(y)?;
    let interactions: Vec<_> = model.terms().iter().filter(|term| term.factors.len() > 1).collect();
    let df: usize = interactions.iter().map(|term| term.columns.len()).sum();
    if df == 0 {
        return Ok(None);
    }
    let left_out = |column: usize| interactions.iter().any(|term| term.columns.contains(&column));
    let sum_of_squares = residual_ss_without(&model.rows(), y, left_out) - full.residual_ss;
    Ok(Noise::of(&full, y).test(sum_of_squares.max(0.0), df).0)
}

/// Residual degrees of freedom and sum of squares of the default model.
pub(crate) fn residual_df_and_ss(
    data: &Factorial,
    y: &[f64],
) -> Result<(usize, f64), FactorialError> {
    let full = Model::new(data, super::default_order(data)?)?.solve(y)?;
    Ok((full.residual_df, Noise::of(&full, y).residual_ss))
}

/// Residual sum of squares when some columns are left out.
fn residual_ss_without(rows: &[Vec<f64>], y: &[f64], left_out: impl Fn(usize) -> bool) -> f64 {
    let keep = |row: &Vec<f64>| {
        (0..row.len()).filter(|column| !left_out(*column)).map(|column| row[column]).collect()
    };
    let kept: Vec<Vec<f64>> = rows.iter().map(keep).collect();
    // Columns that were independent stay so when others are taken away.
    least_squares::solve(&kept, y).map_or(f64::NAN, |fit| fit.residual_ss)
}
