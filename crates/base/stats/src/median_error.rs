//! The standard error of a median, and what it says of the ratio of two samples of medians.

use statrs::function::beta::beta_reg;

use crate::logs;

/// Fewer values have no useful error.
const LEAST_VALUES: usize = 3;

/// Standard error of the natural logarithm of the median of independent values (Maritz and Jarrett
/// 1978): its square is the variance of the ordered logarithms, weighted by the chance that each is
/// the median of a new sample of this size. `None` for fewer than three values, or values that are
/// not positive.
fn log_error_of_median(values: &[f64]) -> Option<f64> {
    let mut logs = logs(values).filter(|logs| logs.len() >= LEAST_VALUES)?;
    logs.sort_by(f64::total_cmp);
    let count = logs.len() as f64;
    let shape = count.midpoint(1.0);
    // For an odd number the distribution of the middle one of that many uniform values.
    let below = |position: usize| beta_reg(shape, shape, position as f64 / count);
    let weighted = |power: i32| -> f64 {
        let terms = logs.iter().enumerate();
        terms.map(|(at, log)| (below(at + 1) - below(at)) * (log - logs[0]).powi(power)).sum()
    };
    Some((weighted(2) - weighted(1).powi(2)).max(0.0).sqrt())
}

/// The least standard error that the logarithm of the ratio of two samples of medians has, given
/// the repetitions behind each median: chance within the trials is part of that between them, so a
/// smaller spread between few trials is luck (a component of variance is not negative). 0 if
/// that is unknown.
pub fn least_log_error<'a>(
    first: impl ExactSizeIterator<Item = &'a [f64]>,
    second: impl ExactSizeIterator<Item = &'a [f64]>,
) -> f64 {
    fn of_mean<'a>(trials: impl ExactSizeIterator<Item = &'a [f64]>) -> Option<f64> {
        let count = trials.len() as f64;
        let squares = trials.map(|values| log_error_of_median(values).map(|error| error * error));
        Some(squares.sum::<Option<f64>>()? / (count * count))
    }
    let both = of_mean(first).zip(of_mean(second)).map(|(one, other)| (one + other).sqrt());
    both.filter(|error| error.is_finite()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_median_is_that_of_maritz_and_jarrett() {
        // Weights of five values: 0.05792, 0.25952, 0.36512, 0.25952, 0.05792.
        let logs = [0.0_f64, 0.1, 0.3, 0.4, 1.0];
        let values = logs.map(f64::exp);
        let weights = [0.057_92, 0.259_52, 0.365_12, 0.259_52, 0.057_92];
        let mean: f64 = weights.iter().zip(logs).map(|(weight, log)| weight * log).sum();
        let square: f64 = weights.iter().zip(logs).map(|(weight, log)| weight * log * log).sum();
        let expected = (square - mean * mean).sqrt();
        let found = log_error_of_median(&values).unwrap();
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        assert_eq!(log_error_of_median(&[2.0; 4]), Some(0.0));
        assert_eq!(log_error_of_median(&values[..2]), None);
        assert_eq!(log_error_of_median(&[1.0, 2.0, 0.0]), None);
    }

    #[test]
    fn the_least_error_shrinks_with_the_trials_and_is_0_where_one_is_unknown() {
        let values = [1.0, 1.1, 1.3];
        let error = log_error_of_median(&values).unwrap();
        let four = [&values[..]; 4];
        let found = least_log_error(four.into_iter(), four.into_iter());
        assert!((found - error / 2.0_f64.sqrt()).abs() < 1e-12, "{found}");
        assert_eq!(least_log_error(four.into_iter(), [&values[..1]].into_iter()), 0.0);
        assert_eq!(least_log_error([].into_iter(), four.into_iter()), 0.0);
    }
}
