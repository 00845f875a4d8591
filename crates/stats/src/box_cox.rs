//! On which scale effects add: Box and Cox's (1964) family of powers.

use crate::distributions;
use crate::factorial::response;
use crate::factorial::{DefaultModel, Factorial, FactorialError, Scale};

/// Powers that are looked at: from the reciprocal to the square.
const POWERS: (f64, f64) = (-1.0, 2.0);
/// Steps of the first, coarse look.
const STEPS: usize = 300;

/// What the data say about the scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxCox {
    /// The power from -1 to 2 with the smallest joint F of all interactions: where effects come
    /// closest to adding up. Absent without interactions in the model.
    pub additive_lambda: Option<f64>,
    /// The power with the largest likelihood under the full model: where the residuals within
    /// cells come closest to one normal distribution. With few replicates it says little.
    pub likely_lambda: f64,
    /// Interval of the latter by the likelihood ratio; an end that lies outside -1 to 2 is absent.
    pub low: Option<f64>,
    /// As `low`.
    pub high: Option<f64>,
}

/// Which of the two scales fits better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleChoice {
    /// The one with the smaller interaction F.
    pub scale: Scale,
    /// Interaction F of the logarithms; absent when a value has none, or there is no noise.
    pub log_f: Option<f64>,
    /// Interaction F of the values themselves.
    pub additive_f: Option<f64>,
}

impl std::fmt::Display for ScaleChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scale = match self.scale {
            Scale::Log => "ratios",
            Scale::Additive => "differences",
        };
        match (self.log_f, self.additive_f) {
            (Some(log), Some(additive)) => write!(
                f,
                "{scale} describe the effects better: interaction F {log:.2} on the log scale, \
                 {additive:.2} on the additive"
            ),
            (None, Some(_)) => write!(f, "{scale}: some values have no logarithm"),
            _ => write!(f, "{scale} by default: no noise or no interaction to judge by"),
        }
    }
}

/// F of all interactions together for the responses to the power `lambda` (their logarithms at 0),
/// against the residuals of the full model; absent without interactions or noise.
///
/// # Errors
/// As [`fit`](crate::fit) on the log scale.
pub fn box_cox_interaction_f(data: &Factorial, lambda: f64) -> Result<Option<f64>, FactorialError> {
    let logs = response(data, Scale::Log)?;
    Ok(DefaultModel::of(data)?.interaction_f(&transformed(&logs, lambda)))
}

/// The powers that fit best, from -1 to 2, with the interval at `confidence`; `None` when there is
/// no noise to judge by.
///
/// The log likelihood of λ is -n/2 ln(RSS(λ)/n) + (λ - 1) Σ ln y, with RSS that of the full model
/// for (y^λ - 1)/λ; its interval holds all λ within half a quantile of χ² with one degree of
/// freedom of the maximum.
///
/// # Errors
/// As [`fit`](crate::fit) on the log scale.
pub fn box_cox(data: &Factorial, confidence: f64) -> Result<Option<BoxCox>, FactorialError> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(FactorialError::Confidence(confidence));
    }
    let logs = response(data, Scale::Log)?;
    let model = DefaultModel::of(data)?;
    if model.residual_df() == 0 || model.residual_ss(&transformed(&logs, 0.0)) == 0.0 {
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
    // The square of the normal quantile is that of χ² with one degree of freedom.
    let normal = distributions::t_critical(1.0 - confidence, 1e9);
    let lowest = log_likelihood(likely_lambda) - normal * normal / 2.0;
    let end = |limit: f64| {
        (log_likelihood(limit) < lowest)
            .then(|| crossing(limit, likely_lambda, |lambda| log_likelihood(lambda) < lowest))
    };
    Ok(Some(BoxCox {
        additive_lambda: has_interactions.then(|| minimum(f_at)),
        likely_lambda,
        low: end(POWERS.0),
        high: end(POWERS.1),
    }))
}

/// Logarithms or values: the scale with the smaller interaction F. Without one to compare, values
/// that have logarithms are taken as such.
///
/// # Errors
/// As [`fit`](crate::fit) on the additive scale.
pub fn choose_scale(data: &Factorial) -> Result<ScaleChoice, FactorialError> {
    let values = response(data, Scale::Additive)?;
    let model = DefaultModel::of(data)?;
    let additive_f = model.interaction_f(&values);
    let Ok(logs) = response(data, Scale::Log) else {
        return Ok(ScaleChoice { scale: Scale::Additive, log_f: None, additive_f });
    };
    let log_f = model.interaction_f(&logs);
    let additive = log_f.zip(additive_f).is_some_and(|(log, additive)| additive < log);
    let scale = if additive { Scale::Additive } else { Scale::Log };
    Ok(ScaleChoice { scale, log_f, additive_f })
}

/// (y^λ - 1) / λ, without loss of digits near λ = 0.
fn transformed(logs: &[f64], lambda: f64) -> Vec<f64> {
    let power = |log: &f64| if lambda == 0.0 { *log } else { (lambda * log).exp_m1() / lambda };
    logs.iter().map(power).collect()
}

/// Where a function over [`POWERS`] is smallest: the best of a grid, then golden section.
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

/// Between a point `outside` and one inside, where `is_outside` changes.
fn crossing(mut outside: f64, mut inside: f64, is_outside: impl Fn(f64) -> bool) -> f64 {
    while (outside - inside).abs() > 1e-9 {
        let middle = outside + (inside - outside) / 2.0;
        if is_outside(middle) {
            outside = middle;
        } else {
            inside = middle;
        }
    }
    inside
}
