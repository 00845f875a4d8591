//! The slope of a straight line through points: the cost of one more unit.

use crate::{alpha, distributions};

/// A slope by least squares, with half the width of its interval by Student's t.
pub(crate) struct Slope {
    pub(crate) slope: f64,
    pub(crate) half: f64,
    /// Part of the variation of y within groups that goes with x; 1 when y does not vary.
    pub(crate) r_squared: f64,
}

/// The pooled slope of y on x within groups with their own intercepts, for equal noise in y.
///
/// `None` with too few points, a number that is not finite, constant x, or `confidence` not
/// strictly between 0 and 1.
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
    (sxx > 0.0).then_some(Slope { slope, half, r_squared })
}

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
        let Slope { slope, half, r_squared } = pooled_slope(&[&points], 0.95).unwrap();
        let numbers = [slope, slope - half, slope + half, r_squared];
        for (number, expected) in numbers.into_iter().zip(SCIPY) {
            assert!((number / expected - 1.0).abs() < 1e-9, "{number}, not {expected}");
        }
    }

    const SCIPY: [f64; 4] =
        [2.0433333333333334, 1.8919424203892221, 2.194724246277445, 0.9983766406291515];

    #[test]
    fn what_is_no_line_is_none() {
        assert!(pooled_slope(&[&[(1.0, 1.0), (2.0, 2.0)]], 0.95).is_none());
        assert!(pooled_slope(&[&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]], 0.95).is_none());
        assert!(pooled_slope(&[&[(1.0, 1.0), (2.0, f64::NAN), (3.0, 3.0)]], 0.95).is_none());
        assert!(pooled_slope(&[&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]], 1.0).is_none());
    }
}
