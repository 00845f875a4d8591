//! The k-th smallest Walsh average of pairs' ratios, without forming them.

use crate::rank_inversion::OrderedRatios;

/// The geometric means of every ratio with itself and with each other one (Walsh averages of the
/// logarithms): n (n + 1) / 2 of them.
pub(crate) struct WalshRatios {
    /// Square roots of the ratios, ascending: rounded multiplication is monotone, and needs no
    /// logarithm, whose last digit differs between machines.
    roots: Vec<f64>,
}

impl WalshRatios {
    /// The ratios must be ascending, positive and finite.
    pub(crate) fn new(ratios: &[f64]) -> Self {
        Self { roots: ratios.iter().map(|ratio| ratio.sqrt()).collect() }
    }
}

impl OrderedRatios for WalshRatios {
    fn len(&self) -> u64 {
        let pairs = self.roots.len() as u64;
        pairs * (pairs + 1) / 2
    }

    fn count_at_most(&self, limit: f64) -> u64 {
        let mut count = 0;
        let mut within = self.roots.len();
        for (index, root) in self.roots.iter().enumerate() {
            while within > index && root * self.roots[within - 1] > limit {
                within -= 1;
            }
            if within == index {
                break;
            }
            count += (within - index) as u64;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_agrees_with_sorting_all_averages() {
        let ratios = [0.2, 0.9, 1.0, 1.0, 1.3, 15.0];
        let roots = ratios.map(f64::sqrt);
        let mut all: Vec<f64> = (0..roots.len())
            .flat_map(|i| (i..roots.len()).map(move |j| roots[i] * roots[j]))
            .collect();
        all.sort_unstable_by(f64::total_cmp);
        let averages = WalshRatios::new(&ratios);
        assert_eq!(averages.len(), 21);
        for (rank, expected) in (1..).zip(&all) {
            assert_eq!(averages.smallest(rank), Some(*expected));
        }
        for limit in [0.1, 0.2, 0.95, 1.0, 15.0, 99.0] {
            let expected = all.iter().filter(|average| **average <= limit).count() as u64;
            assert_eq!(averages.count_at_most(limit), expected, "{limit}");
        }
    }
}
