//! Estimators, intervals and exact tests for small samples of heavy-tailed delays.
//!
//! **Invariant:** every function is pure: no clock, no thread, no environment, no hidden seed.
//! The same numbers give the same bytes. What cannot be computed (an empty sample, a value that is
//! not finite, a ratio of something not positive) is `None`, never a number that looks like one.
//!
//! The default comparison is [`hodges_lehmann_ratio`]: among the methods tried on delays with
//! stalls it had the most power while keeping its coverage at every sample size.
//!
//! A difference is traced to its causes in steps: [`mediation`] and [`breakdown`] say where it
//! lies, a design ([`randomised_blocks`], [`two_level_fraction`]) varies what could have caused it,
//! [`fit`] and [`shapley`] say what each factor brought, and [`ExactBisect`] or [`NoisyBisect`]
//! finds the step within a factor.

mod binomial;
mod bisect;
mod box_cox;
mod breakdown;
mod describe;
mod design;
mod factorial;
mod hodges_lehmann;
mod least_squares;
mod lmdi;
mod mann_whitney;
mod mediation;
mod null_distribution;
mod pairwise;
mod ranks;
mod shapley;
mod tail_probability;

pub use binomial::{ProportionInterval, clopper_pearson};
pub use bisect::{
    Conclusion, ExactBisect, NoisyBisect, NoisySettings, OutOfOrder, Outcome, Posterior,
    RefusedMeasurement,
};
pub use box_cox::{BoxCox, ScaleChoice, box_cox, box_cox_interaction_f, choose_scale};
pub use breakdown::{Breakdown, BreakdownError, NoBounds, Part, PartChange, breakdown};
pub use describe::{mean, median, one_sd_mean, quantile, standard_deviation};
pub use design::{
    DesignError, FractionalFactorial, Resolution, abba, full_factorial, randomised_blocks,
    two_level_fraction,
};
pub use factorial::{
    CellMean, Estimate, Factor, Factorial, FactorialError, Fit, InteractionContrast, MainEffect,
    Observation, Scale, SimpleEffect, TermTest, fit, fit_to_order,
};
pub use hodges_lehmann::{RatioInterval, hodges_lehmann_ratio};
pub use lmdi::lmdi;
pub use mann_whitney::{mann_whitney_exact_p, minimum_two_sided_p};
pub use mediation::{Mediation, UnitCost, mediation, unit_cost};
pub use shapley::{
    Attribution, Contribution, MOST_SHAPLEY_FACTORS, ShapleyError, shapley, shapley_intervals,
    shapley_of,
};

/// A copy sorted from low to high, or `None` when it is empty or a value is not finite.
fn sorted_finite(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}
