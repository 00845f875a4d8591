//! Multiple tests: adjusted p-values, which are compared with the level itself.

/// Holm's (1979) step-down adjustment: rejecting what is at most α keeps the chance of *any* false
/// rejection at α, however the tests depend on each other. In ascending order, it is the largest
/// so far of p₍ⱼ₎ (m + 1 - j), at most 1. p-values must be 0 to 1.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let cells: Vec<(f64, f64)> = p_values.iter().map(|p| (*p, *p)).collect();
    let family = ExclusiveFamily::new(&cells);
    p_values.iter().map(|p| family.adjusted(*p).p).collect()
}

/// A p-value after the step-down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StepDown {
    pub(crate) p: f64,
    /// The divisor of the level: p adjusted ≤ α is the same as p ≤ α / `divisor`.
    pub(crate) divisor: f64,
}

/// Holm's step-down over two hypotheses a cell, "no difference" and "not equivalent", of which at
/// most one is true: Shaffer's (1986) refinement for hypotheses that exclude each other.
///
/// Every step divides the level by the number of cells with a hypothesis left, instead of by the
/// number of hypotheses. Any false claim stays at or below α. For consider the first false
/// rejection: all before it were right, so each cell with a true hypothesis still has it, and the
/// divisor was at least the number t of such cells. There are t true hypotheses, one per cell; the
/// chance that any of them has a p-value of at most α / t is at most t · α / t.
///
/// (Two separate Holm step-downs keep each kind of error at α, but their sum comes near 2 α.)
pub(crate) struct ExclusiveFamily {
    /// Every p-value, ascending, with its adjustment.
    steps: Vec<(f64, StepDown)>,
}

impl ExclusiveFamily {
    /// A family of cells with two p-values each, 0 to 1.
    pub(crate) fn new(cells: &[(f64, f64)]) -> Self {
        let mut p_values: Vec<f64> = cells.iter().flat_map(|(one, other)| [*one, *other]).collect();
        p_values.sort_by(f64::total_cmp);
        let mut largest = 0.0_f64;
        let step = |p: f64| {
            let open = cells.iter().filter(|(one, other)| one.max(*other) >= p).count() as f64;
            largest = largest.max(p * open);
            let divisor = if p > 0.0 { largest / p } else { open };
            (p, StepDown { p: largest.min(1.0), divisor })
        };
        Self { steps: p_values.into_iter().map(step).collect() }
    }

    /// The adjustment of a p-value of the family.
    pub(crate) fn adjusted(&self, p: f64) -> StepDown {
        let after = self.steps.partition_point(|(step, _)| *step <= p);
        self.steps[after.max(1) - 1].1
    }
}

/// Whether a p-value is at most this level, up to rounding.
pub(crate) fn reaches(p: f64, level: f64) -> bool {
    p <= level * (1.0 + 1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(actual: &[f64], expected: &[f64]) -> bool {
        actual.len() == expected.len()
            && actual.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14)
    }

    #[test]
    fn holm_stops_at_the_first_that_is_too_large() {
        assert!(near(&holm(&[0.01, 0.04, 0.03, 0.005]), &[0.03, 0.06, 0.06, 0.02]));
        assert!(near(&holm(&[0.9, 0.8]), &[1.0, 1.0]));
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn a_cell_counts_until_both_its_hypotheses_are_rejected() {
        // The first cell has both small: once both are gone, two cells are left.
        let cells = [(0.001, 0.002), (0.02, 0.9), (0.8, 0.03)];
        let family = ExclusiveFamily::new(&cells);
        let adjust = |(one, other): (f64, f64)| [family.adjusted(one), family.adjusted(other)];
        let found: Vec<StepDown> = cells.into_iter().flat_map(adjust).collect();
        let p: Vec<f64> = found.iter().map(|step| step.p).collect();
        assert!(near(&p, &[0.003, 0.006, 0.04, 1.0, 1.0, 0.06]), "{p:?}");
        assert!(found.iter().all(|step| (1.0..=3.0).contains(&step.divisor)));
    }

    #[test]
    fn one_cell_is_not_adjusted() {
        let family = ExclusiveFamily::new(&[(0.03, 0.7)]);
        assert_eq!(family.adjusted(0.03), StepDown { p: 0.03, divisor: 1.0 });
        assert_eq!(family.adjusted(0.7).p, 0.7);
    }
}
