//! How much of a change each of several factors brought, by Shapley's value.
//!
//! With 2^k means, one for each set of factors that is "after" while the others are "before",
//! the share of a factor is the average, over all orders of switching the factors, of what
//! switching it adds (Shapley 1953; for decomposing a change, Shorrocks 2013). Shares add up to
//! the whole. What a factor adds in the best and in the worst order bounds it.

mod resample;

use crate::factorial::Scale;
use crate::{Refused, refused};
pub use resample::{shapley_intervals, shapley_of};

/// Most factors; a table for them has 256 means.
const MOST_FACTORS: usize = 8;

/// What one factor brought: a ratio on the log scale, a difference on the additive one. Shares are
/// parts of the whole, 1 being all of it; they are absent when the total is "no change", and can be
/// negative or above 1 when factors work against each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contribution {
    /// Effect by Shapley's value; all of them together are the effect of all factors.
    pub effect: f64,
    /// Part of the whole.
    pub share: Option<f64>,
    /// Smallest part over all orders of switching.
    pub lowest_share: Option<f64>,
    /// Largest part over all orders of switching.
    pub highest_share: Option<f64>,
}

/// What each factor brought, from a table of 2^k `means`; bit f of the index is set when factor f is
/// "after". On the log scale, give geometric means to have shares of the geometric mean.
///
/// # Errors
/// A table of another size, and means that are not finite or, on the log scale, not positive.
pub fn shapley(means: &[f64], scale: Scale) -> Result<Vec<Contribution>, Refused> {
    let factors = means.len().trailing_zeros() as usize;
    if !means.len().is_power_of_two() || !(1..=MOST_FACTORS).contains(&factors) {
        return table_size(means.len());
    }
    let unfit = |value: &f64| !value.is_finite() || (scale == Scale::Log && *value <= 0.0);
    if let Some(cell) = means.iter().position(unfit) {
        let value = means[cell];
        return refused(format!(
            "the mean of cell {cell} is {value}: the log scale needs positive means"
        ));
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
        }
    };
    Ok((0..factors).map(contribution).collect())
}

fn table_size<T>(means: usize) -> Result<T, Refused> {
    refused(format!("{means} means: shares of k factors need 2^k, for k from 1 to 8"))
}

/// Part of all orders in which a given set of `size` comes right before a given factor of
/// `factors`: size! (factors - size - 1)! / factors!.
fn weight(size: usize, factors: usize) -> f64 {
    // 1 / (factors × C(factors - 1, size))
    let choices = (0..size).fold(1.0, |c, i| c * (factors - 1 - i) as f64 / (i + 1) as f64);
    1.0 / (factors as f64 * choices)
}
