//! The geometric mean of ratios, and its leave-one-out range.

/// A geometric mean with its leave-one-out range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeometricMean {
    /// Geometric mean of all ratios.
    pub ratio: f64,
    /// The lowest mean without one ratio; `None` when there is only one.
    pub lowest: Option<LeftOut>,
    /// The highest mean without one ratio; `None` when there is only one.
    pub highest: Option<LeftOut>,
}

/// A geometric mean without one of the ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeftOut {
    /// Position of the omitted ratio.
    pub index: usize,
    /// Geometric mean of the others.
    pub ratio: f64,
}

/// Geometric mean of positive ratios, with its leave-one-out range: if that is wide, one row
/// dominates. Ties name the first.
///
/// No other mean of ratios is independent of which side is the baseline (Fleming and Wallace
/// 1986). `None` without ratios, or if one is not positive and finite.
pub fn geometric_mean(ratios: &[f64]) -> Option<GeometricMean> {
    let logs = crate::logs(ratios)?;
    let total: f64 = logs.iter().sum();
    let count = ratios.len() as f64;
    let by_size = |a: &usize, b: &usize| ratios[*a].total_cmp(&ratios[*b]);
    let without = |index: usize| {
        let ratio = ((total - logs[index]) / (count - 1.0)).exp();
        (ratios.len() > 1).then_some(LeftOut { index, ratio })
    };
    let largest = (0..ratios.len()).rev().max_by(by_size)?;
    let smallest = (0..ratios.len()).min_by(by_size)?;
    Some(GeometricMean {
        ratio: (total / count).exp(),
        lowest: without(largest),
        highest: without(smallest),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wild_row_is_named() {
        let found = geometric_mean(&[1.0, 8.0, 1.0]).unwrap();
        assert!((found.ratio - 2.0).abs() < 1e-15);
        let lowest = found.lowest.unwrap();
        assert_eq!(lowest.index, 1);
        assert!((lowest.ratio - 1.0).abs() < 1e-15);
        let highest = found.highest.unwrap();
        assert_eq!(highest.index, 0);
        assert!((highest.ratio - 8.0_f64.sqrt()).abs() < 1e-14);
    }

    #[test]
    fn one_ratio_cannot_be_left_out() {
        let found = geometric_mean(&[3.0]).unwrap();
        assert!((found.ratio - 3.0).abs() < 1e-15);
        assert_eq!((found.lowest, found.highest), (None, None));
    }

    #[test]
    fn what_has_no_logarithm_is_none() {
        for bad in [&[][..], &[0.0], &[1.0, -2.0], &[f64::NAN], &[f64::INFINITY]] {
            assert_eq!(geometric_mean(bad), None);
        }
    }
}
