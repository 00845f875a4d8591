//! Does a counter explain a slowdown? Its change times a unit cost, against the change of time.

use crate::line::pooled_slope;

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
    /// Part of the response's variation within cells that goes with the counter, 0 to 1.
    pub r_squared: f64,
}

/// Slope of the response on the counter *within* cells, pooled, with its interval by Student's t
/// (analysis of covariance; one cell is plain regression). Each cell has pairs of counter and
/// response. The slope is independent of the differences between cells, which it explains.
///
/// `None` when a cell has fewer than three trials, a number is not finite, the counter does not
/// vary within cells, or `confidence` is not strictly between 0 and 1.
pub fn unit_cost(cells: &[Vec<(f64, f64)>], confidence: f64) -> Option<UnitCost> {
    if !cells.iter().all(|cell| cell.len() >= 3) {
        return None;
    }
    let cells: Vec<&[(f64, f64)]> = cells.iter().map(Vec::as_slice).collect();
    let found = pooled_slope(&cells, confidence)?;
    let (low, high) = (found.slope - found.half, found.slope + found.half);
    Some(UnitCost { cost: found.slope, low, high, r_squared: found.r_squared })
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

    #[test]
    fn what_has_no_slope_is_none() {
        assert_eq!(unit_cost(&[], 0.95), None);
        assert_eq!(unit_cost(&[vec![(1.0, 1.0), (2.0, 2.0)]], 0.95), None);
        assert_eq!(unit_cost(&[vec![(1.0, 1.0); 3]], 0.95), None);
    }
}
