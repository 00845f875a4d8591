//! A printed row, and the samples of five points that it allows.

use stats::{median, standard_deviation};

/// Steps in which the free number is walked.
pub(crate) const STEPS: u32 = 1_000;

/// What rounding to three decimals can change in the sum of the two unknown points, in ms.
pub(crate) const SLACKS_MS: [f64; 3] = [-0.004, 0.0, 0.004];

/// A row as printed, delays in ms.
pub(crate) struct Row {
    pub(crate) test: &'static str,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) median: f64,
    pub(crate) average: f64,
    /// S.D. in seconds (first format) or S.D. ratio (second format).
    pub(crate) printed: f64,
}

pub(crate) const fn row(test: &'static str, delays: [f64; 4], printed: f64) -> Row {
    let [low, high, median, average] = delays;
    Row { test, low, high, median, average, printed }
}

impl Row {
    /// The sample of five points at one step, 0 to [`STEPS`], ascending.
    pub(crate) fn sample(&self, step: u32, slack_ms: f64) -> [f64; 5] {
        let both = 5.0 * self.average - self.low - self.median - self.high + slack_ms;
        let least = self.low.max(both - self.high);
        let most = self.median.min(both - self.median);
        let x = least + (most - least) * f64::from(step) / f64::from(STEPS);
        [self.low, x, self.median, both - x, self.high]
    }
}

/// A way to measure the spread of five points.
pub(crate) type Spread = fn(&[f64; 5]) -> f64;

/// Standard deviation with divisor n - 1: ours.
pub(crate) fn divisor_n_minus_1(values: &[f64; 5]) -> f64 {
    standard_deviation(values).expect("five points")
}

/// Standard deviation with divisor n.
pub(crate) fn divisor_n(values: &[f64; 5]) -> f64 {
    divisor_n_minus_1(values) * (4.0_f64 / 5.0).sqrt()
}

/// Root mean square distance from the median, divisor n - 1.
pub(crate) fn around_median_n_minus_1(values: &[f64; 5]) -> f64 {
    let centre = median(values).expect("five points");
    (values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / 4.0).sqrt()
}

/// Root mean square distance from the median, divisor n.
pub(crate) fn around_median_n(values: &[f64; 5]) -> f64 {
    around_median_n_minus_1(values) * (4.0_f64 / 5.0).sqrt()
}
