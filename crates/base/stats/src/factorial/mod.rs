//! Factorial experiments: the effect of each factor, alone and together, with intervals.
//!
//! The response, or its logarithm, is grand mean + blocks + main effects + interactions + error
//! (Montgomery, *Design and Analysis of Experiments*, chapters 5 and 6). Columns sum to zero over
//! the levels of a factor, so a main effect is an average over the other factors' levels with equal
//! weights. Sums of squares are those of leaving one term out of the full model (type III).

mod effects;
mod model;

use serde::Serialize;

use crate::distributions::{f_tail, t_critical};
use crate::least_squares::LeastSquares;
use crate::{Refused, alpha};
pub(crate) use effects::DefaultModel;
use effects::Estimator;
pub use effects::{CellMean, Estimate, InteractionContrast, MainEffect, SimpleEffect, TermTest};
use model::Model;

/// A factor of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Factor {
    /// Its printed name.
    pub name: String,
    /// At least two; the first is the reference ("before").
    pub levels: Vec<String>,
}

/// One measured value and the levels of the factors.
#[derive(Clone, Debug, PartialEq)]
pub struct FactorialTrial {
    /// Index of each factor's level, in the order of the factors.
    pub levels: Vec<usize>,
    /// Number of the block; all observations have one, or none has.
    pub block: Option<usize>,
    /// The response, in any one unit.
    pub value: f64,
}

/// The data of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Factorial {
    /// The factors.
    pub factors: Vec<Factor>,
    /// The measured values.
    pub observations: Vec<FactorialTrial>,
}

/// Why an experiment cannot be analysed, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactorialError {
    /// A combination that an interaction needs is missing.
    #[error("no observation of {0}: measure it, or fit interactions of fewer factors")]
    EmptyCell(String),
    /// Two terms of the model that these data confuse.
    #[error("{0} is confounded with earlier terms: measure more combinations or leave it out")]
    Aliased(String),
    /// Anything else.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// The scale on which effects add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Effects are ratios.
    Log,
    /// Effects are differences.
    Additive,
}

impl Scale {
    /// `value` on the scale where effects add.
    pub(crate) fn forward(self, value: f64) -> f64 {
        match self {
            Scale::Log => value.ln(),
            Scale::Additive => value,
        }
    }

    /// A printed level or effect: undoes the logarithm.
    pub(crate) fn back(self, value: f64) -> f64 {
        match self {
            Scale::Log => value.exp(),
            Scale::Additive => value,
        }
    }
}

/// The fitted model. "Effect" means ratio on [`Scale::Log`] and difference on [`Scale::Additive`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// Scale of all effects below.
    pub scale: Scale,
    /// Observations minus coefficients. At 0 estimates have no sigma, interval, F or p.
    pub residual_df: usize,
    /// Residual standard deviation on the scale (on `Log`, about a relative one).
    pub sigma: Option<f64>,
    /// Every term of the model: blocks, main effects, interactions.
    pub terms: Vec<TermTest>,
    /// Each level against its factor's reference, averaged over the other factors.
    pub main: Vec<MainEffect>,
    /// Each level against its reference, per combination of the other factors' levels.
    pub simple: Vec<SimpleEffect>,
    /// How a factor's effect depends on another, averaged over the rest.
    pub interactions: Vec<InteractionContrast>,
    /// Every combination of levels, the last factor changing fastest.
    pub cells: Vec<CellMean>,
    /// All factors at their last level against all at their reference.
    pub total: Estimate,
}

/// Fits main effects and interactions: of all factors for at most four and full data, else of
/// pairs; main effects only for five or more factors whose pairs are aliased. Fails as
/// [`FactorialError`] lists.
pub fn fit(data: &Factorial, scale: Scale, confidence: f64) -> Result<Fit, FactorialError> {
    fit_to_order(data, scale, confidence, default_order(data)?)
}

/// As [`fit`], with interactions of at most `order` factors; 1 is main effects only.
pub fn fit_to_order(
    data: &Factorial,
    scale: Scale,
    confidence: f64,
    order: usize,
) -> Result<Fit, FactorialError> {
    let alpha = alpha(confidence).ok_or_else(|| {
        Refused::new(format!("confidence {confidence} is not strictly between 0 and 1"))
    })?;
    let model = Model::new(data, order)?;
    let y = response(data, scale)?;
    let design = model.design()?;
    let full = design.solve(&y);
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    let total_ss: f64 = y.iter().map(|value| (value - mean).powi(2)).sum();
    let df = design.residual_df as f64;
    let estimator = Estimator {
        cells: crate::design::full_factorial(&model.level_counts),
        noise: Noise::new(&full, &y, design.residual_df),
        t: (df > 0.0).then(|| t_critical(alpha, df)),
        model: &model,
        design: &design,
        fit: &full,
        scale,
    };
    Ok(Fit {
        scale,
        residual_df: design.residual_df,
        sigma: estimator.noise.variance.map(f64::sqrt),
        terms: estimator.terms(total_ss)?,
        main: estimator.main_effects(),
        simple: estimator.simple_effects(),
        interactions: estimator.interactions(),
        cells: estimator.cell_means(data),
        total: estimator.total(),
    })
}

#[derive(Clone, Copy)]
pub(crate) struct Noise {
    residual_ss: f64,
    df: usize,
    variance: Option<f64>,
}

impl Noise {
    /// Residuals below the rounding of the response count as none, as in exact replicates.
    fn new(fit: &LeastSquares, y: &[f64], df: usize) -> Noise {
        let largest = y.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let rounding = y.len() as f64 * (1e-13 * largest).powi(2);
        let residual_ss = if fit.residual_ss <= rounding { 0.0 } else { fit.residual_ss };
        Noise { residual_ss, df, variance: (df > 0).then(|| residual_ss / df as f64) }
    }

    /// F and p of a sum of squares; absent without noise to compare it with.
    fn test(self, sum_of_squares: f64, df: usize) -> (Option<f64>, Option<f64>) {
        let variance = self.variance.filter(|variance| *variance > 0.0);
        let f = variance.map(|variance| sum_of_squares / df as f64 / variance);
        (f, f.and_then(|f| f_tail(f, df as f64, self.df as f64)))
    }
}

/// The responses on `scale`, or the first that has no value there.
pub(crate) fn response(data: &Factorial, scale: Scale) -> Result<Vec<f64>, FactorialError> {
    let on_scale = |(index, observation): (usize, &FactorialTrial)| {
        let value = observation.value;
        let why = match scale {
            _ if !value.is_finite() => ": leave it out and say why",
            Scale::Log if value <= 0.0 => ", which has no logarithm: use the additive scale",
            _ => return Ok(scale.forward(value)),
        };
        Err(Refused::new(format!("observation {index} is {value}{why}")).into())
    };
    data.observations.iter().enumerate().map(on_scale).collect()
}

fn default_order(data: &Factorial) -> Result<usize, FactorialError> {
    model::check(data)?;
    let factors: Vec<usize> = (0..data.factors.len()).collect();
    if factors.len() <= 4 {
        let is_full = model::first_missing(data, &factors).is_none();
        return Ok(if is_full { factors.len() } else { 2 });
    }
    // A fraction of resolution IV aliases pairs with each other, but no main effects.
    let aliased = |order| {
        let design = Model::new(data, order).and_then(|model| model.design());
        matches!(design, Err(FactorialError::Aliased(_)))
    };
    Ok(if aliased(2) && !aliased(1) { 1 } else { 2 })
}
