//! How much of a change each of several factors brought, by Shapley's value.
//!
//! With 2^k means, one for each set of factors that is "after" while the others are "before",
//! the share of a factor is the average, over all orders of switching the factors, of what
//! switching it adds (Shapley 1953; for decomposing a change, Shorrocks 2013). Shares add up to
//! the whole. What a factor adds in the best and in the worst order bounds it, and the two ends,
//! switched first and switched last, are what an engineer can act on.

mod resample;

use crate::factorial::Scale;
pub use resample::{shapley_intervals, shapley_of};

/// Most factors; a table for them has 256 means.
pub const MOST_SHAPLEY_FACTORS: usize = 8;

/// Why there are no shares.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ShapleyError {
    /// The table is none for 1 to 8 factors.
    #[error("{0} means: shares of k factors need 2^k, for k from 1 to 8")]
    TableSize(usize),
    /// A mean that cannot be put on the scale.
    #[error("the mean of cell {cell} is {value}: the log scale needs positive means")]
    Mean {
        /// Index of the mean: bit f is set when factor f is "after".
        cell: usize,
        /// Its value.
        value: f64,
    },
    /// A combination of "before" and "after" levels without an observation.
    #[error("no observation with levels {0:?}: shares need all combinations of before and after")]
    EmptyCell(Vec<usize>),
    /// Levels that are not two different ones for each factor.
    #[error("before {before:?} and after {after:?} are not two different levels of each factor")]
    Levels {
        /// Levels before.
        before: Vec<usize>,
        /// Levels after.
        after: Vec<usize>,
    },
    /// A confidence that is none, or too few resamples.
    #[error("confidence must be strictly between 0 and 1, and resamples at least 2")]
    Settings,
}

/// The change and what each factor brought. "Effect" means ratio on the log scale and difference on
/// the additive one.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribution {
    /// Scale on which the contributions add.
    pub scale: Scale,
    /// Mean with all factors before.
    pub before: f64,
    /// Mean with all factors after.
    pub after: f64,
    /// Effect of all factors together; the product (log) or sum of the contributions.
    pub total: f64,
    /// One for each factor.
    pub contributions: Vec<Contribution>,
}

/// What one factor brought. Shares are parts of the whole, 1 being all of it; they are absent when
/// the total is "no change", and can be negative or above 1 when factors work against each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contribution {
    /// Effect by Shapley's value.
    pub effect: f64,
    /// Part of the whole.
    pub share: Option<f64>,
    /// Smallest part over all orders of switching.
    pub lowest_share: Option<f64>,
    /// Largest part over all orders of switching.
    pub highest_share: Option<f64>,
    /// Mean with this factor alone after: what it does when it is switched first.
    pub applied_alone: f64,
    /// Part of the whole that it brings alone.
    pub applied_share: Option<f64>,
    /// Mean with all factors after but this one: what reverting it would give.
    pub reverted_alone: f64,
    /// Part of the whole that reverting it alone takes back. These do not add to 1.
    pub regained_share: Option<f64>,
}

/// Shares from a table of 2^k `means`; bit f of the index is set when factor f is "after". On the
/// log scale, give geometric means to have shares of the geometric mean.
///
/// # Errors
/// [`ShapleyError`] for a table of another size, and for means that are not finite or, on the log
/// scale, not positive.
pub fn shapley(means: &[f64], scale: Scale) -> Result<Attribution, ShapleyError> {
    let factors = means.len().trailing_zeros() as usize;
    if !means.len().is_power_of_two() || !(1..=MOST_SHAPLEY_FACTORS).contains(&factors) {
        return Err(ShapleyError::TableSize(means.len()));
    }
    let unfit = |value: &f64| !value.is_finite() || (scale == Scale::Log && *value <= 0.0);
    if let Some(cell) = means.iter().position(unfit) {
        return Err(ShapleyError::Mean { cell, value: means[cell] });
    }
    let worth: Vec<f64> = means.iter().map(|mean| scale.forward(*mean)).collect();
    let all = means.len() - 1;
    let total = worth[all] - worth[0];
    let share_of = |part: f64| (total != 0.0).then(|| part / total);
    let contribution = |factor: usize| {
        let bit = 1 << factor;
        let (mut value, mut least, mut most) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
        for before in (0..=all).filter(|set| set & bit == 0) {
            let added = worth[before | bit] - worth[before];
            value += added * weight(before.count_ones() as usize, factors);
            (least, most) = (added.min(least), added.max(most));
        }
        let (lowest, highest) = if total < 0.0 { (most, least) } else { (least, most) };
        Contribution {
            effect: scale.back(value),
            share: share_of(value),
            lowest_share: share_of(lowest),
            highest_share: share_of(highest),
            applied_alone: means[bit],
            applied_share: share_of(worth[bit] - worth[0]),
            reverted_alone: means[all ^ bit],
            regained_share: share_of(worth[all] - worth[all ^ bit]),
        }
    };
    Ok(Attribution {
        scale,
        before: means[0],
        after: means[all],
        total: scale.back(total),
        contributions: (0..factors).map(contribution).collect(),
    })
}

/// Part of all orders in which a given set of `size` comes right before a given factor of
/// `factors`: size! (factors - size - 1)! / factors!.
fn weight(size: usize, factors: usize) -> f64 {
    // 1 / (factors × C(factors - 1, size))
    let choices = (0..size).fold(1.0, |c, i| c * (factors - 1 - i) as f64 / (i + 1) as f64);
    1.0 / (factors as f64 * choices)
}
