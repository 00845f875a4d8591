//! A straight line through points: what one more of this costs of that.

use crate::distributions;

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
/// intervals by Student's t. They suppose noise in y alone, the same for all x.
///
/// # Errors
/// `None` when there are fewer than three points, a number is not finite, x does not vary, or
/// `confidence` is not strictly between 0 and 1.
#[must_use]
pub fn line(points: &[(f64, f64)], confidence: f64) -> Option<Line> {
    let finite = points.iter().all(|(x, y)| x.is_finite() && y.is_finite());
    if points.len() < 3 || !finite || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let n = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / n;
    let sum = |term: &dyn Fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|(x, y)| term(x - mean_x, y - mean_y)).sum()
    };
    let (sxx, sxy, syy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    if sxx <= 0.0 {
        return None;
    }
    let slope = sxy / sxx;
    let intercept = mean_y - slope * mean_x;
    let residual_ss = sum(&|x, y| (y - slope * x).powi(2));
    let residual_df = points.len() - 2;
    let t = distributions::t_critical(1.0 - confidence, residual_df as f64);
    let variance = residual_ss / residual_df as f64;
    let slope_half = t * (variance / sxx).sqrt();
    let intercept_half = t * (variance * (1.0 / n + mean_x * mean_x / sxx)).sqrt();
    Some(Line {
        slope,
        slope_low: slope - slope_half,
        slope_high: slope + slope_half,
        intercept,
        intercept_low: intercept - intercept_half,
        intercept_high: intercept + intercept_half,
        r_squared: if syy > 0.0 { 1.0 - residual_ss / syy } else { 1.0 },
        residual_df,
    })
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
