//! Where a series of costs becomes steady: the end of a cold start.
//!
//! docs/memory-jobs.md has the method and its error rates.

mod bisection;
mod quantile;

pub use bisection::first_where;
pub use quantile::{median, quantile, sorted_finite};

/// Fewest values in the tail, unless values are alike.
const LEAST_TAIL: usize = 5;

/// Part of the limit by which the cost may still exceed it.
const TOLERANCE: f64 = 0.1;

/// Two values this close (as a share of the cost) are alike; more may differ by twice as much.
const ALIKE: f64 = 0.005;

/// A stall is this many times as expensive as the middle of three windows on either side.
const STALL: f64 = 2.0;

/// Largest probability of a steady tail that is too high.
const DOUBT: f64 = 0.03;

/// Noise (standard deviation of the logarithm) that is always allowed for.
const LEAST_NOISE: f64 = 0.005;

/// Weights of no cold start and of a step; the rest is for decays.
const WARM: f64 = 0.3;
const STEP: f64 = 0.2;

/// Exponents of the factors and time constants of decays; in between, each is fitted to the series.
const FACTORS: std::ops::RangeInclusive<i32> = -2..=6;
const WINDOWS: std::ops::RangeInclusive<i32> = -1..=5;

/// Index of the first value of the steady tail of `costs` per unit of work, one per window or
/// round in time order; `None` while there is no steady tail. It depends on the series alone, so
/// it may be computed after every window.
///
/// Two values are enough when they are alike (within 0.5 %), three or more within 1 %, with or
/// without a first one that differs; else the tail has at least five. A slowly growing cost counts
/// as steady. The next cliff cannot be foreseen: three equal windows before a step down are steady
/// until it comes.
///
/// An infinite cost (no work) counts as ten times the highest finite one. `None` without a finite
/// cost, or for costs not above 0.
pub fn steady_from(costs: &[f64]) -> Option<usize> {
    let finite = costs.iter().copied().filter(|cost| cost.is_finite());
    let highest = finite.reduce(f64::max).filter(|_| costs.iter().all(|cost| *cost > 0.0))?;
    let log = |cost: &f64| if cost.is_finite() { cost.ln() } else { highest.ln() + 10.0_f64.ln() };
    let logs: Vec<f64> = costs.iter().map(log).collect();
    alike(&logs).or_else(|| level_tail(&without_stalls(&logs)))
}

/// The start of a series shorter than a tail, or after its first value, if constant.
fn alike(logs: &[f64]) -> Option<usize> {
    let constant = |values: &[f64]| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let range = if values.len() == 2 { ALIKE } else { 2.0 * ALIKE };
        values.iter().all(|value| value - low <= range)
    };
    match logs {
        [_, rest @ ..] if logs.len() < LEAST_TAIL && !rest.is_empty() => {
            let from_second = rest.len() > 2 && constant(rest);
            if constant(logs) { Some(0) } else { from_second.then_some(1) }
        }
        _ => None,
    }
}

/// The values with stalls lowered to their surroundings; the first value is never one.
fn without_stalls(logs: &[f64]) -> Vec<f64> {
    let value = |(index, log): (usize, &f64)| {
        let before = median(&logs[index.saturating_sub(3)..index]);
        let after = median(&logs[index + 1..logs.len().min(index + 4)]);
        match before.map(|before| before.max(after.unwrap_or(before))) {
            Some(around) if *log > around + STALL.ln() => around,
            _ => *log,
        }
    };
    logs.iter().enumerate().map(value).collect()
}

/// The earliest tail in whose first windows no likely cold start has too much excess left.
fn level_tail(logs: &[f64]) -> Option<usize> {
    let latest = logs.len().checked_sub(LEAST_TAIL)?;
    let starts = cold_starts(logs);
    let best = starts.iter().map(|start| start.log_weight).fold(f64::NEG_INFINITY, f64::max);
    let weight = |start: &ColdStart| (start.log_weight - best).exp();
    let total: f64 = starts.iter().map(weight).sum();
    let steady = |from: usize| {
        let left = |start: &ColdStart| start.mean_excess(from, from + LEAST_TAIL);
        let high = starts.iter().filter(|start| left(start) > TOLERANCE / 2.0);
        high.map(weight).sum::<f64>() <= DOUBT * total
    };
    // Every cold start has less left in a later tail.
    let earliest = || first_where(0, latest as u64, |from| steady(from as usize)) as usize;
    steady(latest).then(earliest)
}

/// A possible descent of the cost to its limit.
struct ColdStart {
    /// Logarithm of its likelihood, up to a constant.
    log_weight: f64,
    /// Excess over the limit in the first window, as a part of the limit.
    excess: f64,
    course: Course,
}

enum Course {
    /// The excess is multiplied by this from window to window.
    Decay(f64),
    /// The excess ends after this many windows.
    Step(usize),
}

impl ColdStart {
    fn mean_excess(&self, from: usize, to: usize) -> f64 {
        let windows = (to - from) as f64;
        match self.course {
            Course::Decay(ratio) => {
                let (start, end) = (ratio.powf(from as f64), ratio.powf(to as f64));
                self.excess * (start - end) / (1.0 - ratio) / windows
            }
            Course::Step(last) => self.excess * last.min(to).saturating_sub(from) as f64 / windows,
        }
    }
}

fn cold_starts(logs: &[f64]) -> Vec<ColdStart> {
    let count = logs.len() as f64;
    // A normal likelihood with the best standard deviation, and one degree less for the level.
    let fit = |residual_ss: f64| {
        let variance = residual_ss.max(0.0) / count + LEAST_NOISE * LEAST_NOISE;
        -(count - 1.0) / 2.0 * variance.ln()
    };
    let sum: f64 = logs.iter().sum();
    let total_ss = logs.iter().map(|log| (log - sum / count).powi(2)).sum();
    let log_weight = WARM.ln() + fit(total_ss);
    let mut starts = vec![ColdStart { log_weight, excess: 0.0, course: Course::Step(0) }];
    let likelier_short = |windows: i32| 2.0_f64.powf(-0.5 * f64::from(windows));
    let all: f64 = WINDOWS.map(likelier_short).sum();
    for windows in WINDOWS {
        let weight = (1.0 - WARM - STEP) * likelier_short(windows) / all / FACTORS.count() as f64;
        for factor in FACTORS {
            let decay = fitted_decay(logs, 1.6 * 2.0_f64.powi(factor), 2.0_f64.powi(windows));
            let (excess, ratio, residual_ss) = decay;
            let log_weight = weight.ln() + fit(residual_ss);
            starts.push(ColdStart { log_weight, excess, course: Course::Decay(ratio) });
        }
    }
    let mut early = 0.0;
    for last in 1..logs.len() {
        early += logs[last - 1];
        let (before, after) = (last as f64, count - last as f64);
        let step = early / before - (sum - early) / after;
        if step > 0.0 {
            let residual_ss = total_ss - step * step * before * after / count;
            // Position and height of the step are fitted: Schwarz's penalty for each.
            let log_weight = STEP.ln() - 1.5 * count.ln() + fit(residual_ss);
            starts.push(ColdStart {
                log_weight,
                excess: step.exp_m1(),
                course: Course::Step(last),
            });
        }
    }
    starts
}

/// Excess, decay ratio per window and residual sum of squares of the best decay near this excess
/// and time constant: one step of Gauss and Newton's method, by at most √2.
fn fitted_decay(logs: &[f64], excess: f64, windows: f64) -> (f64, f64, f64) {
    let reach = std::f64::consts::LN_2 / 2.0;
    let ratio = (-1.0 / windows).exp();
    let mut left = excess;
    let rows: Vec<[f64; 3]> = (0..logs.len())
        .map(|window| {
            let by_excess = left / (1.0 + left);
            let row = [logs[window] - left.ln_1p(), by_excess, by_excess * window as f64 / windows];
            left *= ratio;
            row
        })
        .collect();
    let count = logs.len() as f64;
    let mean = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>() / count;
    let means = [mean(0), mean(1), mean(2)];
    let product = |a: usize, b: usize| -> f64 {
        rows.iter().map(|row| (row[a] - means[a]) * (row[b] - means[b])).sum()
    };
    let (rr, rg, rh) = (product(0, 0), product(0, 1), product(0, 2));
    let (gg, gh, hh) = (product(1, 1) + 1e-9, product(1, 2), product(2, 2) + 1e-9);
    let d_excess = ((hh * rg - gh * rh) / (gg * hh - gh * gh)).clamp(-reach, reach);
    let d_windows = ((rh - gh * d_excess) / hh).clamp(-reach, reach);
    let d_excess = ((rg - gh * d_windows) / gg).clamp(-reach, reach);
    let explained = 2.0 * (d_excess * rg + d_windows * rh)
        - d_excess * d_excess * gg
        - 2.0 * d_excess * d_windows * gh
        - d_windows * d_windows * hh;
    let fitted_ratio = (-1.0 / (windows * d_windows.exp())).exp();
    (excess * d_excess.exp(), fitted_ratio, rr - explained)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(costs: &[f64]) -> Option<usize> {
        steady_from(costs)
    }

    #[test]
    fn two_like_values_are_a_level_and_one_is_none() {
        assert_eq!(from(&[]), None);
        assert_eq!(from(&[4.0]), None);
        assert_eq!(from(&[4.0, 4.01]), Some(0));
        assert_eq!(from(&[4.0, 4.1]), None);
        assert_eq!(from(&[4.0, 4.01, 3.98]), Some(0));
        assert_eq!(from(&[40.0, 4.01, 3.98, 4.0]), Some(1));
    }

    #[test]
    fn cold_starts_are_left_out() {
        assert_eq!(from(&[90.0, 5.0, 5.02, 4.9, 5.1, 5.0, 5.0]), Some(1));
        assert_eq!(from(&[9.0, 8.8, 9.1, 5.0, 5.1, 4.9, 5.01, 5.0, 4.95]), Some(3));
        assert_eq!(from(&[f64::INFINITY, 5.0, 5.02, 4.9, 5.1, 5.0, 5.0]), Some(1));
        let decay: Vec<f64> = (0..40).map(|t| 1.0 + 10.0 * (-f64::from(t) / 4.0).exp()).collect();
        assert!((12..=20).contains(&from(&decay).unwrap()), "{:?}", from(&decay));
        assert_eq!(from(&decay[..16]), None);
    }

    #[test]
    fn a_decay_that_goes_on_is_not_steady() {
        let slow: Vec<f64> = (0..60).map(|t| 1.0 + 3.0 * (-f64::from(t) / 60.0).exp()).collect();
        for count in 1..=60 {
            assert_eq!(from(&slow[..count]), None, "{count}");
        }
    }

    #[test]
    fn a_stall_is_no_cold_start() {
        let mut costs = vec![5.0, 5.1, 4.9, 5.05, 4.95, 5.0, 5.02, 4.98];
        assert_eq!(from(&costs), Some(0));
        for stall in [50.0, f64::INFINITY] {
            costs[4] = stall;
            assert_eq!(from(&costs), Some(0));
        }
    }

    #[test]
    fn a_value_of_the_same_level_does_not_undo_it() {
        let mut costs = vec![80.0, 20.0, 9.0, 5.2, 5.1, 4.9, 5.05, 4.95, 5.0, 5.1, 4.9, 5.0];
        let found = from(&costs).unwrap();
        for _ in 0..40 {
            costs.push(5.0);
            assert!(from(&costs).unwrap().abs_diff(found) <= 1, "{}", costs.len());
        }
    }

    #[test]
    fn what_is_no_cost_is_none() {
        for bad in [f64::NAN, 0.0, -1.0] {
            assert_eq!(from(&[1.0, 1.0, bad, 1.0, 1.0, 1.0, 1.0]), None);
        }
        assert_eq!(from(&[f64::INFINITY; 9]), None);
    }
}
