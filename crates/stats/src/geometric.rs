//! The geometric mean of ratios, and how much it depends on one of them.

/// A geometric mean, and the range it takes when any one ratio is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeometricMean {
    /// Geometric mean of all ratios.
    pub ratio: f64,
    /// The lowest mean that leaving one out gives; `None` when there is only one.
    pub lowest: Option<LeftOut>,
    /// The highest mean that leaving one out gives; `None` when there is only one.
    pub highest: Option<LeftOut>,
}

/// A geometric mean without one of the ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeftOut {
    /// Position of the ratio that is left out.
    pub index: usize,
    /// Geometric mean of the others.
    pub ratio: f64,
}

/// Geometric mean of positive ratios, with its leave-one-out range: if that is wide, one row makes
/// the headline. Of equal ratios the first is named.
///
/// The geometric mean is the only mean of ratios that does not depend on which side is the
/// baseline (Fleming and Wallace 1986). `None` when there is no ratio, or one is not positive and
/// finite.
pub fn geometric_mean(ratios: &[f64]) -> Option<GeometricMean> {
    let usable = |ratio: &f64| ratio.is_finite() && *ratio > 0.0;
    if ratios.is_empty() || !ratios.iter().all(usable) {
        return None;
    }
    let total: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    let count = ratios.len() as f64;
    let by_size = |a: &usize, b: &usize| ratios[*a].total_cmp(&ratios[*b]);
    let without = |index: usize| {
        let ratio = ((total - ratios[index].ln()) / (count - 1.0)).exp();
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
