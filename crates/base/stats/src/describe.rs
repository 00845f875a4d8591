//! Summaries of one sample: mean, spread, and resp1's trimmed mean.
//!
//! Results are in the input's unit; `None` without values, or unless all of them and the result
//! are finite.

use steady::median;

/// Arithmetic mean, as the first value plus the mean distance: exact for constant samples.
pub fn mean(values: &[f64]) -> Option<f64> {
    let first = *values.first()?;
    let distance: f64 = values.iter().map(|value| value - first).sum();
    Some(first + distance / values.len() as f64).filter(|mean| mean.is_finite())
}

/// Standard deviation with divisor n - 1: exactly 0 for a constant sample, `None` for one point.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let centre = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt()).filter(|spread| spread.is_finite())
}

/// resp1's `1sdavg`: the mean of all points at most one S.D. from the median. The middle points
/// never lie further out, and one point is its own `1sdavg`.
///
/// It hides stalls by design: print a ratio that does not next to it.
///
/// resp1's program (2003), which printed the published tables, was not found, and its manual does
/// not specify the divisor of the S.D.: `tests/resp1` has what the tables decide.
pub fn one_sd_mean(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    if values.len() == 1 {
        return Some(centre);
    }
    let spread = standard_deviation(values)?;
    let kept = values.iter().copied().filter(|value| (value - centre).abs() <= spread);
    mean(&kept.collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use steady::quantile;

    #[test]
    fn a_constant_sample_has_no_spread() {
        let values = [0.1; 7];
        assert_eq!(mean(&values), Some(0.1));
        assert_eq!(standard_deviation(&values), Some(0.0));
        assert_eq!(one_sd_mean(&values), Some(0.1));
    }

    #[test]
    fn one_point_has_a_mean_but_no_spread() {
        assert_eq!(mean(&[3.0]), Some(3.0));
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(quantile(&[3.0], 0.9), Some(3.0));
        assert_eq!(standard_deviation(&[3.0]), None);
        assert_eq!(one_sd_mean(&[3.0]), Some(3.0));
    }

    #[test]
    fn what_has_no_answer_is_none() {
        for values in [&[][..], &[1.0, f64::NAN], &[f64::INFINITY, 1.0], &[f64::NEG_INFINITY]] {
            assert_eq!(mean(values), None);
            assert_eq!(median(values), None);
            assert_eq!(standard_deviation(values), None);
            assert_eq!(one_sd_mean(values), None);
        }
        for probability in [-0.1, 1.1, f64::NAN] {
            assert_eq!(quantile(&[1.0, 2.0], probability), None);
        }
    }

    #[test]
    fn one_sd_mean_drops_the_stall_and_keeps_the_rest() {
        assert_eq!(one_sd_mean(&[10.0, 11.0, 12.0, 13.0, 500.0]), Some(11.5));
    }

    #[test]
    fn a_point_exactly_one_standard_deviation_away_is_kept() {
        // Median 0, mean 0, squares 2, n - 1 = 2: the S.D. is exactly 1.
        assert_eq!(standard_deviation(&[-1.0, 0.0, 1.0]), Some(1.0));
        assert_eq!(one_sd_mean(&[-1.0, 0.0, 1.0]), Some(0.0));
    }

    #[test]
    fn two_far_clusters_still_leave_points_near_their_median() {
        assert_eq!(one_sd_mean(&[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]), Some(0.5));
    }
}
