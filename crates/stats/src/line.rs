//! A straight line through points: the cost of one more unit.

use crate::{alpha, distributions};

/// A straight line by least squares, with its intervals.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Line {
    /// Units of y for one of x.
    pub slope: f64,
    /// Low end of the slope's interval.
    pub slope_low: f64,
    /// High end of the slope's interval.
    pub slope_high: f64,
    /// y where x is 0.
    pub intercept: f64,
    /// Low end of the intercept's interval.
    pub intercept_low: f64,
    /// High end of the intercept's interval.
    pub intercept_high: f64,
    /// Part of the variation of y that goes with x, 0 to 1; 1 when y does not vary.
    pub r_squared: f64,
    /// Points minus two.
    pub residual_df: usize,
}

/// The line y = intercept + slope × x through points (x, y) by ordinary least squares, with
/// intervals by Student's t, for equal noise in y alone.
///
/// `None` when there are fewer than three points, a number is not finite, x does not vary, or
/// `confidence` is not strictly between 0 and 1.
pub fn line(points: &[(f64, f64)], confidence: f64) -> Option<Line> {
    let found = pooled_slope(&[points], confidence)?;
    let Slope { slope, half, sxx, residual_df, r_squared } = found;
    let (mean_x, mean_y) = middle(points);
    let intercept = mean_y - slope * mean_x;
    // The slope's variance times sxx is that of the noise.
    let intercept_half = half * (sxx / points.len() as f64 + mean_x * mean_x).sqrt();
    Some(Line {
        slope,
        slope_low: slope - half,
        slope_high: slope + half,
        intercept,
        intercept_low: intercept - intercept_half,
        intercept_high: intercept + intercept_half,
        r_squared,
        residual_df,
    })
}

/// A slope by least squares, with half the width of its interval by Student's t.
pub(crate) struct Slope {
    pub(crate) slope: f64,
    pub(crate) half: f64,
    /// Sum of the squared distances of x from its mean, within groups.
    sxx: f64,
    /// Points minus groups minus one.
    residual_df: usize,
    /// Part of the variation of y within groups that goes with x; 1 when y does not vary.
    pub(crate) r_squared: f64,
}

/// The pooled slope of y on x within groups with intercepts of their own. `None` as of [`line()`].
pub(crate) fn pooled_slope(groups: &[&[(f64, f64)]], confidence: f64) -> Option<Slope> {
    let count: usize = groups.iter().map(|group| group.len()).sum();
    let is_finite = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
    let is_usable = groups.iter().copied().flatten().all(is_finite);
    let residual_df = count.checked_sub(groups.len() + 1).filter(|df| *df > 0 && is_usable)?;
    let centred = |group: &&[(f64, f64)]| -> Vec<(f64, f64)> {
        let (mean_x, mean_y) = middle(group);
        group.iter().map(|(x, y)| (x - mean_x, y - mean_y)).collect()
    };
    let deviations: Vec<(f64, f64)> = groups.iter().flat_map(centred).collect();
    let sum = |term: &dyn Fn(f64, f64) -> f64| -> f64 {
        deviations.iter().map(|(x, y)| term(*x, *y)).sum()
    };
    let (sxx, sxy, syy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    let slope = sxy / sxx;
    let residual_ss = sum(&|x, y| (y - slope * x).powi(2));
    let t = distributions::t_critical(alpha(confidence)?, residual_df as f64);
    let half = t * (residual_ss / residual_df as f64 / sxx).sqrt();
    let r_squared = if syy > 0.0 { 1.0 - residual_ss / syy } else { 1.0 };
    (sxx > 0.0).then_some(Slope { slope, half, sxx, residual_df, r_squared })
}

/// The mean of x and that of y.
fn middle(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let sums = points.iter().fold((0.0, 0.0), |sums, (x, y)| (sums.0 + x, sums.1 + y));
    (sums.0 / n, sums.1 / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From SciPy 1.17: `linregress`, and t with three degrees of freedom.
    #[test]
    fn five_points_agree_with_scipy() {
        let points = [(1.0, 2.1), (2.0, 3.9), (4.0, 8.3), (5.0, 9.8), (8.0, 16.4)];
        let found = line(&points, 0.95).unwrap();
        let numbers = [
            found.slope,
            found.slope_low,
            found.slope_high,
            found.intercept,
            found.intercept_low,
            found.intercept_high,
            found.r_squared,
        ];
        for (number, expected) in numbers.into_iter().zip(SCIPY) {
            assert!((number / expected - 1.0).abs() < 1e-9, "{number}, not {expected}");
        }
    }

    const SCIPY: [f64; 7] = [
        2.0433333333333334,
        1.8919424203892221,
        2.194724246277445,
        -0.07333333333333414,
        -0.783419657300451,
        0.6367529906337828,
        0.9983766406291515,
    ];

    #[test]
    fn what_is_no_line_is_none() {
        assert_eq!(line(&[(1.0, 1.0), (2.0, 2.0)], 0.95), None);
        assert_eq!(line(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)], 0.95), None);
        assert_eq!(line(&[(1.0, 1.0), (2.0, f64::NAN), (3.0, 3.0)], 0.95), None);
        assert_eq!(line(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)], 1.0), None);
    }
}
