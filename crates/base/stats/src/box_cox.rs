//! The scale on which effects add: Box and Cox's (1964) family of powers.

use crate::factorial::{DefaultModel, Factorial, FactorialError, Scale, response};

/// The powers considered: from the reciprocal to the square.
const POWERS: (f64, f64) = (-1.0, 2.0);
/// Steps of the coarse search.
const STEPS: usize = 300;

/// The best powers of the response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxCox {
    /// The power with the smallest joint F of all interactions, if the model has any.
    pub additive_lambda: Option<f64>,
    /// The power with the largest likelihood under the full model.
    pub likely_lambda: f64,
}

/// Joint F of all interactions on a scale, against the full model's residuals; absent without
/// interactions or noise. Errors as in [`fit`](crate::fit).
pub fn interaction_f(data: &Factorial, scale: Scale) -> Result<Option<f64>, FactorialError> {
    let values = response(data, scale)?;
    Ok(DefaultModel::new(data)?.interaction_f(&values))
}

/// As [`interaction_f`], for responses to the power `lambda`, logarithms at 0.
pub fn box_cox_interaction_f(data: &Factorial, lambda: f64) -> Result<Option<f64>, FactorialError> {
    let logs = response(data, Scale::Log)?;
    Ok(DefaultModel::new(data)?.interaction_f(&transformed(&logs, lambda)))
}

/// The powers that fit best, from -1 to 2; `None` without noise.
///
/// The log likelihood of λ is -n/2 ln(RSS(λ)/n) + (λ - 1) Σ ln y, with RSS that of the full model
/// for (y^λ - 1) / λ. Errors as in [`fit`](crate::fit) on the log scale.
pub fn box_cox(data: &Factorial) -> Result<Option<BoxCox>, FactorialError> {
    let logs = response(data, Scale::Log)?;
    let model = DefaultModel::new(data)?;
    if model.design.residual_df == 0 || model.residual_ss(&transformed(&logs, 0.0)) == 0.0 {
        return Ok(None);
    }
    let log_likelihood = |lambda: f64| {
        let n = logs.len() as f64;
        let residual_ss = model.residual_ss(&transformed(&logs, lambda));
        -n / 2.0 * (residual_ss / n).ln() + (lambda - 1.0) * logs.iter().sum::<f64>()
    };
    let f_at =
        |lambda: f64| model.interaction_f(&transformed(&logs, lambda)).unwrap_or(f64::INFINITY);
    let likely_lambda = minimum(|lambda| -log_likelihood(lambda));
    let has_interactions = f_at(likely_lambda).is_finite();
    let additive_lambda = has_interactions.then(|| minimum(f_at));
    Ok(Some(BoxCox { additive_lambda, likely_lambda }))
}

/// (y^λ - 1) / λ, without loss of digits near λ = 0.
fn transformed(logs: &[f64], lambda: f64) -> Vec<f64> {
    let power = |log: &f64| if lambda == 0.0 { *log } else { (lambda * log).exp_m1() / lambda };
    logs.iter().map(power).collect()
}

/// The minimum of a function over [`POWERS`]: the best of a grid, then golden section.
fn minimum(f: impl Fn(f64) -> f64) -> f64 {
    let step = (POWERS.1 - POWERS.0) / STEPS as f64;
    let grid = (0..=STEPS).map(|index| POWERS.0 + step * index as f64);
    let coarse = grid.map(|x| (f(x), x)).min_by(|a, b| a.0.total_cmp(&b.0));
    let centre = coarse.map_or(0.0, |(_, x)| x);
    let (mut low, mut high) = ((centre - step).max(POWERS.0), (centre + step).min(POWERS.1));
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    while high - low > 1e-7 {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if f(left) <= f(right) {
            high = right;
        } else {
            low = left;
        }
    }
    low + (high - low) / 2.0
}
