//! The ratio of pairs by Hodges and Lehmann (1963), with the interval that inverts Wilcoxon's signed
//! rank test.
//!
//! The estimate is the exponential of the median Walsh average (the mean of two, or one with itself)
//! of the logarithms of the ratios. It supposes that these are symmetric about their middle, as they
//! are when a block's disturbance reaches both of its runs alike.

use crate::hodges_lehmann::sorted_positive;
use crate::null_distribution::{NullDistribution, minimum_signed_rank_p};
use crate::rank_inversion::{OrderedRatios, RankInversion};

/// Wilcoxon's signed rank test of every ratio of `second` to `first`.
pub(crate) fn walsh_inversion(first: &[f64], second: &[f64]) -> Option<RankInversion> {
    if first.len() != second.len() || first.iter().any(|value| *value < 0.0) {
        return None;
    }
    let ratios: Vec<f64> = first.iter().zip(second).map(|(first, second)| second / first).collect();
    let ratios = Box::new(WalshRatios::new(&sorted_positive(&ratios)?));
    let null = NullDistribution::signed_rank(first.len());
    Some(RankInversion { ratios, null, smallest_p: minimum_signed_rank_p(first.len()) })
}

/// The geometric means of every ratio with itself and with each other one: n (n + 1) / 2 of them.
struct WalshRatios {
    /// Square roots of the ratios, ascending: rounded multiplication is monotone, and needs no
    /// logarithm, whose last digit differs between machines.
    roots: Vec<f64>,
}

impl WalshRatios {
    /// The ratios must be ascending, positive and finite.
    fn new(ratios: &[f64]) -> Self {
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
    use crate::rank_inversion::Inversion;

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

    #[test]
    fn a_constant_ratio_is_exact_and_as_sure_as_the_number_of_pairs() {
        let first = [100.0, 137.0, 12.5, 3.1, 88.0, 41.0];
        let second = first.map(|value| value * 1.2);
        let interval = |pairs| walsh_inversion(&first[..pairs], &second[..pairs])?.interval(0.95);
        let found = interval(6).unwrap();
        for end in [found.ratio, found.low, found.high] {
            assert!((end - 1.2).abs() < 1e-14, "{found:?}");
        }
        assert_eq!(found.confidence_attained, 1.0 - 2.0 / 64.0);
        assert_eq!(interval(4).unwrap().confidence_attained, 1.0 - 2.0 / 16.0);
    }

    #[test]
    fn what_has_no_ratio_is_none() {
        let good = [1.0, 2.0];
        for bad in [&[][..], &[1.0], &[0.0, 1.0], &[-1.0, 1.0], &[f64::NAN, 1.0]] {
            assert!(walsh_inversion(bad, &good).is_none());
            assert!(walsh_inversion(&good, bad).is_none());
        }
        assert!(walsh_inversion(&[-1.0], &[-2.0]).is_none());
        assert!(walsh_inversion(&[], &[]).is_none());
    }
}
