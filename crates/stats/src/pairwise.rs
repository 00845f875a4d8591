//! The k-th smallest of all pairwise ratios, without forming them.

use crate::rank_inversion::OrderedRatios;

/// All ratios treated / baseline of two ascending, positive, finite samples.
pub(crate) struct PairwiseRatios {
    baseline: Vec<f64>,
    treated: Vec<f64>,
}

impl PairwiseRatios {
    /// Both samples must be ascending, positive and finite.
    pub(crate) fn new(baseline: Vec<f64>, treated: Vec<f64>) -> Self {
        Self { baseline, treated }
    }
}

impl OrderedRatios for PairwiseRatios {
    fn len(&self) -> u64 {
        self.baseline.len() as u64 * self.treated.len() as u64
    }

    /// Rounded division is monotone in both operands, so the border between "at or below" and
    /// "above" is a staircase, walked once.
    fn count_at_most(&self, limit: f64) -> u64 {
        let mut count = 0;
        let mut within = 0;
        for divisor in &self.baseline {
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
        let baseline = vec![0.3, 1.0, 1.0, 2.5, 7.0];
        let treated = vec![0.1, 1.0, 3.0, 3.0, 900.0, 1e6];
        let mut all: Vec<f64> =
            baseline.iter().flat_map(|x| treated.iter().map(move |y| y / x)).collect();
        all.sort_unstable_by(f64::total_cmp);
        let ratios = PairwiseRatios::new(baseline, treated);
        assert_eq!(ratios.len(), 30);
        for (rank, expected) in (1..).zip(&all) {
            assert_eq!(ratios.smallest(rank), Some(*expected));
        }
    }

    #[test]
    fn a_ratio_outside_the_floats_is_none() {
        let ratios = PairwiseRatios::new(vec![1e-300], vec![1e300]);
        assert_eq!(ratios.smallest(1), None);
        let ratios = PairwiseRatios::new(vec![1e300], vec![1e-300]);
        assert_eq!(ratios.smallest(1), None);
    }
}
