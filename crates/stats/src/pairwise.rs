//! The k-th smallest of all pairwise ratios, without forming them.

/// Largest bit pattern of a finite float.
const LARGEST_FINITE_BITS: u64 = 0x7FEF_FFFF_FFFF_FFFF;

/// All ratios treated / baseline of two ascending, positive, finite samples.
pub(crate) struct PairwiseRatios<'a> {
    baseline: &'a [f64],
    treated: &'a [f64],
}

impl<'a> PairwiseRatios<'a> {
    /// Both samples must be ascending, positive and finite.
    pub(crate) fn new(baseline: &'a [f64], treated: &'a [f64]) -> Self {
        Self { baseline, treated }
    }

    /// Number of ratios.
    pub(crate) fn len(&self) -> u64 {
        self.baseline.len() as u64 * self.treated.len() as u64
    }

    /// The `rank`-th smallest ratio, counted from 1; `None` when it is outside the finite floats
    /// or rounds to 0.
    ///
    /// Positive floats are ordered as their bit patterns are, so the answer is bisected over those:
    /// the smallest float with at least `rank` ratios at or below it, which is itself a ratio.
    /// At most 63 counts of n + m steps each; nothing is allocated.
    pub(crate) fn smallest(&self, rank: u64) -> Option<f64> {
        let (mut low, mut high) = (0, LARGEST_FINITE_BITS);
        if self.count_at_most(f64::from_bits(high)) < rank {
            return None;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.count_at_most(f64::from_bits(middle)) >= rank {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(f64::from_bits(low)).filter(|ratio| *ratio > 0.0)
    }

    /// Number of ratios at or below `limit`. Rounded division is monotone in both operands, so the
    /// border between "at or below" and "above" is a staircase, walked once.
    fn count_at_most(&self, limit: f64) -> u64 {
        let mut count = 0;
        let mut within = 0;
        for divisor in self.baseline {
            while within < self.treated.len() && self.treated[within] / divisor <= limit {
                within += 1;
            }
            count += within as u64;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_agrees_with_sorting_all_ratios() {
        let baseline = [0.3, 1.0, 1.0, 2.5, 7.0];
        let treated = [0.1, 1.0, 3.0, 3.0, 900.0, 1e6];
        let mut all: Vec<f64> =
            baseline.iter().flat_map(|x| treated.iter().map(move |y| y / x)).collect();
        all.sort_unstable_by(f64::total_cmp);
        let ratios = PairwiseRatios::new(&baseline, &treated);
        assert_eq!(ratios.len(), 30);
        for (rank, expected) in (1..).zip(&all) {
            assert_eq!(ratios.smallest(rank), Some(*expected));
        }
    }

    #[test]
    fn a_ratio_outside_the_floats_is_none() {
        let ratios = PairwiseRatios::new(&[1e-300], &[1e300]);
        assert_eq!(ratios.smallest(1), None);
        let ratios = PairwiseRatios::new(&[1e300], &[1e-300]);
        assert_eq!(ratios.smallest(1), None);
    }
}
