//! Does a counter explain a slowdown? Its change times a unit cost, against the change of time.

use crate::{alpha, distributions};

/// The part of a response's change that a counter explains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mediation {
    /// Change of the counter times its unit cost, in the unit of the response.
    pub explained: f64,
    /// Part of the response's change; absent when the response did not change.
    pub share: Option<f64>,
    /// Unit cost at which it would explain everything; absent when the counter did not change.
    pub unit_cost_for_all: Option<f64>,
}

/// From the changes (after minus before) of a counter and a response for the same work, and the
/// unit cost in units of the response.
pub fn mediation(counter_change: f64, response_change: f64, unit_cost: f64) -> Mediation {
    let explained = counter_change * unit_cost;
    Mediation {
        explained,
        share: (response_change != 0.0).then(|| explained / response_change),
        unit_cost_for_all: (counter_change != 0.0).then(|| response_change / counter_change),
    }
}

/// A unit cost estimated from data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitCost {
    /// Units of the response per count.
    pub cost: f64,
    /// Low end of its interval.
    pub low: f64,
    /// High end of its interval.
    pub high: f64,
    /// Part of the response's variation within cells that goes with the counter, 0 to 1; 1 when the
    /// response does not vary.
    pub r_squared: f64,
}

/// Slope of the response on the counter *within* cells, pooled, with its interval by Student's t
/// (analysis of covariance; one cell is plain regression), for equal noise in the response. Each
/// cell has pairs of counter and response. The slope is independent of the differences between
/// cells, which it explains.
///
/// `None` when a cell has fewer than three trials, a number is not finite, the counter does not
/// vary within cells, or `confidence` is not strictly between 0 and 1.
pub fn unit_cost(cells: &[Vec<(f64, f64)>], confidence: f64) -> Option<UnitCost> {
    let count: usize = cells.iter().map(Vec::len).sum();
    let is_finite = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
    let is_usable = cells.iter().all(|cell| cell.len() >= 3 && cell.iter().all(is_finite));
    let residual_df = count.checked_sub(cells.len() + 1).filter(|_| is_usable)? as f64;
    let centred = |cell: &Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        let (mean_x, mean_y) = middle(cell);
        cell.iter().map(|(x, y)| (x - mean_x, y - mean_y)).collect()
    };
    let deviations: Vec<(f64, f64)> = cells.iter().flat_map(centred).collect();
    let sum = |term: &dyn Fn(f64, f64) -> f64| -> f64 {
        deviations.iter().map(|(x, y)| term(*x, *y)).sum()
    };
    let (sxx, sxy, syy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    let cost = sxy / sxx;
    let residual_ss = sum(&|x, y| (y - cost * x).powi(2));
    let t = distributions::t_critical(alpha(confidence)?, residual_df);
    let half = t * (residual_ss / residual_df / sxx).sqrt();
    let r_squared = if syy > 0.0 { 1.0 - residual_ss / syy } else { 1.0 };
    (sxx > 0.0).then_some(UnitCost { cost, low: cost - half, high: cost + half, r_squared })
}

fn middle(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let sums = points.iter().fold((0.0, 0.0), |sums, (x, y)| (sums.0 + x, sums.1 + y));
    (sums.0 / n, sums.1 / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hunt's experiment 1 (1973): 40,000 page faults more, shared by six users, at 8 ms each,
    /// against 65.75 s more for each of them.
    #[test]
    fn paging_explains_four_fifths_of_hunts_slowdown() {
        let found = mediation(40_000.0 / 6.0, 199.0 - 133.25, 0.008);
        assert_eq!(format!("{:.2}", found.explained), "53.33");
        assert_eq!(format!("{:.3}", found.share.unwrap()), "0.811");
        assert_eq!(format!("{:.5}", found.unit_cost_for_all.unwrap()), "0.00986");
    }

    #[test]
    fn no_change_has_no_share() {
        assert_eq!(mediation(5.0, 0.0, 1.0).share, None);
        assert_eq!(mediation(0.0, 5.0, 1.0).unit_cost_for_all, None);
    }

    const STATSMODELS: [f64; 3] = [0.007436974789915972, 0.004580903826410694, 0.01029304575342125];

    /// From statsmodels 0.15: `ols("y ~ x + C(cell)")`, confidence 0.95.
    #[test]
    fn the_slope_within_cells_agrees_with_statsmodels() {
        let cells = [
            vec![(79.0, 1.2), (64.0, 1.1), (67.0, 1.1)],
            vec![(81.0, 1.2), (58.0, 1.0), (59.0, 1.05), (70.0, 1.08)],
        ];
        let found = unit_cost(&cells, 0.95).unwrap();
        let numbers = [found.cost, found.low, found.high];
        for (number, expected) in numbers.into_iter().zip(STATSMODELS) {
            assert!((number / expected - 1.0).abs() < 1e-9, "{number}, not {expected}");
        }
    }

    /// From SciPy 1.17: `linregress`, and t with three degrees of freedom.
    #[test]
    fn five_points_agree_with_scipy() {
        let points = [(1.0, 2.1), (2.0, 3.9), (4.0, 8.3), (5.0, 9.8), (8.0, 16.4)];
        let found = unit_cost(&[points.to_vec()], 0.95).unwrap();
        let numbers = [found.cost, found.low, found.high, found.r_squared];
        for (number, expected) in numbers.into_iter().zip(SCIPY) {
            assert!((number / expected - 1.0).abs() < 1e-9, "{number}, not {expected}");
        }
    }

    const SCIPY: [f64; 4] =
        [2.0433333333333334, 1.8919424203892221, 2.194724246277445, 0.9983766406291515];

    #[test]
    fn points_without_a_line_have_no_slope() {
        let slope = |points: &[(f64, f64)], confidence| unit_cost(&[points.to_vec()], confidence);
        assert_eq!(slope(&[(1.0, 1.0), (2.0, 2.0)], 0.95), None);
        assert_eq!(slope(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)], 0.95), None);
        assert_eq!(slope(&[(1.0, 1.0), (2.0, f64::NAN), (3.0, 3.0)], 0.95), None);
        assert_eq!(slope(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)], 1.0), None);
    }

    #[test]
    fn what_has_no_slope_is_none() {
        assert_eq!(unit_cost(&[], 0.95), None);
        assert_eq!(unit_cost(&[vec![(1.0, 1.0), (2.0, 2.0)]], 0.95), None);
        assert_eq!(unit_cost(&[vec![(1.0, 1.0); 3]], 0.95), None);
    }
}
