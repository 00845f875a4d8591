//! Estimators, intervals and exact tests for small samples of heavy-tailed delays.
//!
//! **Invariant:** every function is pure: no clock, thread, environment or hidden seed. What
//! cannot be computed (from an empty sample, or a value not finite or not positive) is `None`.
//!
//! The default comparison is [`hodges_lehmann_ratio`]: on delays with stalls it had the most power
//! of the methods that keep their coverage at every sample size.
//!
//! [`looks`] are the times at which a comparison may stop, and [`ChangeScan`] finds changes along an
//! ordered axis.
//! [`mediation`] and [`breakdown`] locate a difference, [`fit`] and [`shapley`] attribute it to the
//! factors of a design, and [`ExactBisect`] and [`NoisyBisect`] find the step within a factor.

mod bisect;
mod bounded;
mod box_cox;
mod breakdown;
mod change_scan;
mod comparison;
mod describe;
mod design;
mod distributions;
mod factorial;
mod five_points;
mod geometric;
mod hodges_lehmann;
mod knee;
mod least_squares;
mod median_error;
mod mediation;
mod multiple;
mod null_distribution;
mod ordered;
mod overall;
mod permutation;
mod power;
mod proportions;
mod rank_inversion;
mod run_ratio;
mod search;
mod sequential;
mod shapley;
mod sign_flips;
mod t_intervals;

pub use bisect::{Conclusion, ExactBisect, NoisyBisect, NoisySettings, Outcome, Posterior};
pub use bounded::{bounded_median, bounded_quantile};
pub use box_cox::{BoxCox, box_cox, box_cox_interaction_f, interaction_f};
pub use breakdown::{PartChange, PartTrials, breakdown};
pub use change_scan::{Change, ChangeScan, narrowest};
pub use comparison::{
    AllowedRatio, Arms, CellResult, Judgement, Method, NotDecided, ProportionResult, Proportions,
    Settings, Verdict, compare, says_nothing,
};
pub use describe::{mean, one_sd_mean, standard_deviation};
pub use design::{
    FractionalFactorial, Resolution, abba, full_factorial, randomised_blocks, two_level_fraction,
};
pub use factorial::{
    CellMean, Estimate, Factor, Factorial, FactorialError, FactorialTrial, Fit,
    InteractionContrast, MainEffect, Scale, SimpleEffect, TermTest, fit, fit_to_order,
};
pub use five_points::{Bounds, FivePoints, Recovered, Spread};
pub use geometric::{GeometricMean, LeftOut, geometric_mean};
pub use hodges_lehmann::hodges_lehmann_ratio;
pub use knee::{
    Knee, KneeKind, KneeSettings, LEAST_LEVELS, Level, NoKnee, OtherKnee, Shape, WhyNoKnee, knee,
};
pub use median_error::least_log_error;
pub use mediation::{Mediation, UnitCost, mediation, unit_cost};
pub use multiple::holm;
pub use null_distribution::minimum_two_sided_p;
pub use ordered::{OrderedRatio, ordered_ratios};
pub use overall::{OverallCell, OverallEffect, PermutationInterval, TrialCost, overall};
pub use permutation::permutation_p;
pub use power::{Goal, SampleSizes, minimum_detectable_ratio};
pub use proportions::{ProportionInterval, clopper_pearson, fisher_exact_p};
pub use rank_inversion::RatioInterval;
pub use run_ratio::{bounded_run_ratio, run_ratio};
pub use sequential::{Look, looks, looks_of_any_test, most_blocks};
pub use shapley::{Contribution, shapley, shapley_intervals, shapley_of};
pub use sign_flips::{SignFlips, share_interval, sign_flip_p};
pub use steady::{median, quantile, steady_from};
pub use t_intervals::{LogRatio, log_ratio, mean_difference, mean_interval};

/// Whether values at the same position of two samples belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// They do not.
    Unpaired,
    /// They do: they have a block or a seed in common.
    Paired,
}

/// Why something cannot be computed, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(String);

impl Refused {
    /// A refusal with this reason.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

fn refused<T>(why: impl Into<String>) -> Result<T, Refused> {
    Err(Refused::new(why))
}

/// Combines pairs of values; `None` when the lengths differ.
fn pairs(first: &[f64], second: &[f64], combine: fn(f64, f64) -> f64) -> Option<Vec<f64>> {
    let pairs = first.iter().zip(second).map(|(first, second)| combine(*first, *second));
    (first.len() == second.len()).then(|| pairs.collect())
}

/// 1 - `confidence`; `None` unless that is strictly between 0 and 1.
fn alpha(confidence: f64) -> Option<f64> {
    (confidence > 0.0 && confidence < 1.0).then_some(1.0 - confidence)
}

/// Natural logarithms; `None` unless all values are positive and finite.
fn logs(values: &[f64]) -> Option<Vec<f64>> {
    let log = |value: &f64| (value.is_finite() && *value > 0.0).then(|| value.ln());
    values.iter().map(log).collect()
}
