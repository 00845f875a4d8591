//! Where a series of costs becomes steady: the end of a cold start.

use crate::median;

/// What counts as steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadySettings {
    /// Fewest values in the tail once values vary. Fewer are taken where they are alike.
    pub least_tail: usize,
    /// Drift over the tail, as a part of the cost, up to which the tail is steady.
    pub tolerance: f64,
}

impl Default for SteadySettings {
    fn default() -> Self {
        Self { least_tail: 5, tolerance: 0.1 }
    }
}

/// Two values this close (part of the cost) are evidently the same level; three may differ by three
/// times as much.
const ALIKE: f64 = 0.01;

/// Values further from the level than this many standard deviations of the noise are drawn in.
const CLIP: f64 = 3.0;

/// Index of the first value of the steady tail of `costs` per unit of work, one for each window or
/// round in order of time; `None` while there is no steady tail. Meant to be asked again after
/// every window; the answer depends on nothing but the series.
///
/// # Errors
/// `None` too when a cost is not above 0, or is not a number. An infinite cost (a window in which
/// no work was done) is one stall among others.
#[must_use]
pub fn steady_from(costs: &[f64], settings: &SteadySettings) -> Option<usize> {
    if !costs.iter().all(|cost| *cost > 0.0) {
        return None;
    }
    let logs: Vec<f64> = costs.iter().map(|cost| cost.min(f64::MAX).ln()).collect();
    alike(&logs).or_else(|| level_tail(&logs, settings))
}

/// The start of a short series, or of what follows its first value, if that is evidently constant.
fn alike(logs: &[f64]) -> Option<usize> {
    let within = |values: &[f64], range: f64| {
        let (low, high) = ends(values);
        high - low <= range
    };
    match logs {
        [_, _] => within(logs, ALIKE).then_some(0),
        [_, _, _] => within(logs, 3.0 * ALIKE).then_some(0),
        [_, rest @ ..] if rest.len() == 3 => within(rest, 3.0 * ALIKE).then_some(1),
        _ => None,
    }
}

/// The tail that makes the error of its mean smallest, if it does not drift.
fn level_tail(logs: &[f64], settings: &SteadySettings) -> Option<usize> {
    let least = settings.least_tail.max(2).max(logs.len().div_ceil(3));
    if logs.len() < least {
        return None;
    }
    let clipped = clipped(logs)?;
    let from = smallest_error(&clipped, least)?;
    let tail = &clipped[from..];
    let (early, late) = tail.split_at(tail.len() / 2);
    let drift = crate::mean(early)? - crate::mean(late)?;
    (drift.abs() <= settings.tolerance.ln_1p()).then_some(from)
}

/// The values, drawn in to within [`CLIP`] deviations of the level of the later half.
fn clipped(logs: &[f64]) -> Option<Vec<f64>> {
    let centre = median(&logs[logs.len() / 2..])?;
    let steps: Vec<f64> = logs.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    // The median of |difference| of two normal values is .954 deviations of one.
    let reach = CLIP * (median(&steps)? / 0.954).max(ALIKE);
    Some(logs.iter().map(|log| log.clamp(centre - reach, centre + reach)).collect())
}

/// The start that makes the squared standard error of the mean of what follows smallest, leaving at
/// least `least` values; the earliest of equal ones.
fn smallest_error(values: &[f64], least: usize) -> Option<usize> {
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best: Option<(usize, f64)> = None;
    for (count, (index, value)) in values.iter().enumerate().rev().enumerate() {
        let count = (count + 1) as f64;
        sum += value;
        squares += value * value;
        let error = (squares - sum * sum / count).max(0.0) / (count * count);
        let better = best.is_none_or(|(_, smallest)| error <= smallest);
        if count as usize >= least && better {
            best = Some((index, error));
        }
    }
    best.map(|(index, _)| index)
}

fn ends(values: &[f64]) -> (f64, f64) {
    let fold = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick).unwrap_or(0.0);
    (fold(f64::min), fold(f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(costs: &[f64]) -> Option<usize> {
        steady_from(costs, &SteadySettings::default())
    }

    #[test]
    fn two_like_values_are_a_level_and_one_is_none() {
        assert_eq!(from(&[]), None);
        assert_eq!(from(&[4.0]), None);
        assert_eq!(from(&[4.0, 4.02]), Some(0));
        assert_eq!(from(&[4.0, 3.0]), None);
    }

    #[test]
    fn cold_starts_are_left_out() {
        assert_eq!(from(&[90.0, 5.0, 5.02, 4.99, 5.01, 5.0, 5.0]), Some(1));
        assert_eq!(from(&[9.0, 9.0, 9.1, 5.0, 5.02, 4.99, 5.01, 5.0]), Some(3));
    }

    #[test]
    fn what_is_no_cost_is_none() {
        for bad in [f64::NAN, 0.0, -1.0] {
            assert_eq!(from(&[1.0, 1.0, bad, 1.0, 1.0, 1.0, 1.0]), None);
        }
    }
}
