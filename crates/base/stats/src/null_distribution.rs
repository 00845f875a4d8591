//! Null distributions of Mann and Whitney's U and of Wilcoxon's signed rank sum.

use crate::distributions::normal_cdf;
use crate::search::first_where;

/// Largest number of pairs (n × m) with an exact distribution.
const EXACT_PAIRS_LIMIT: usize = 100_000;

/// Most pairs with an exact signed rank sum: 2^126 choices of signs fit in 128 bits.
const EXACT_SIGNS_LIMIT: usize = 126;

/// The distribution of U for samples of n and m values, or of the signed rank sum, without ties.
pub(crate) enum NullDistribution {
    /// Cumulative probabilities of the values 0, 1, ….
    Exact(Vec<f64>),
    /// Normal with continuity correction.
    Normal { mean: f64, standard_deviation: f64 },
}

impl NullDistribution {
    /// Distribution of U. Exact up to [`EXACT_PAIRS_LIMIT`] and while (n + m) over n fits in 127
    /// bits (63 against 63, 5 against 20,000); beyond, normal with mean n m / 2 and variance
    /// n m (n + m + 1) / 12.
    pub(crate) fn new(n: usize, m: usize) -> Self {
        let pairs = n as f64 * m as f64;
        if n.saturating_mul(m) <= EXACT_PAIRS_LIMIT && arrangements(n, m) < 2f64.powi(127) {
            return Self::Exact(cumulative(&counts(n, m)));
        }
        let variance = pairs * (n as f64 + m as f64 + 1.0) / 12.0;
        Self::Normal { mean: pairs / 2.0, standard_deviation: variance.sqrt() }
    }

    /// Distribution of the rank sum of the positive ones among n differences. Exact up to
    /// [`EXACT_SIGNS_LIMIT`]; beyond, normal with mean n (n + 1) / 4 and variance
    /// n (n + 1) (2 n + 1) / 24.
    pub(crate) fn signed_rank(n: usize) -> Self {
        if n <= EXACT_SIGNS_LIMIT {
            return Self::Exact(cumulative(&sign_counts(n)));
        }
        let n = n as f64;
        let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0;
        Self::Normal { mean: n * (n + 1.0) / 4.0, standard_deviation: variance.sqrt() }
    }

    /// Probability that the statistic is at most `u`.
    pub(crate) fn at_most(&self, u: u64) -> f64 {
        match self {
            Self::Exact(cumulative) => cumulative.get(u as usize).copied().unwrap_or(1.0),
            Self::Normal { mean, standard_deviation } => {
                normal_cdf((u as f64 + 0.5 - mean) / standard_deviation)
            }
        }
    }

    /// How many values from 0 have together at most `probability` (at most ½), up to rounding.
    pub(crate) fn values_within(&self, probability: f64, pairs: u64) -> u64 {
        let allowed = probability * (1.0 + 1e-12);
        first_where(0, pairs.div_ceil(2), |value| self.at_most(value) > allowed)
    }
}

/// The smallest two-sided p-value of samples of `n` and `m` values: 2 / C(n + m, n), at most 1.
pub fn minimum_two_sided_p(n: usize, m: usize) -> f64 {
    (2.0 / arrangements(n, m)).min(1.0)
}

/// The smallest two-sided p-value of the signed rank test of `pairs` pairs: 2 / 2^pairs, at most 1.
pub(crate) fn minimum_signed_rank_p(pairs: usize) -> f64 {
    (2.0 * 0.5_f64.powf(pairs as f64)).min(1.0)
}

/// The binomial coefficient "n + m choose n" as a float; infinite if it is too large for one.
pub(crate) fn arrangements(n: usize, m: usize) -> f64 {
    let (few, many) = (n.min(m), n.max(m));
    let mut product = 1.0_f64;
    for step in 1..=few {
        product *= (many + step) as f64 / step as f64;
        if product.is_infinite() {
            break;
        }
    }
    product
}

/// Number of arrangements with U = 0, 1, … n × m: the coefficients of the Gaussian binomial
/// ∏ (1 - q^(many + i)) / (1 - q^i), i = 1 … few (Mann and Whitney 1947; Andrews 1976).
///
/// Integers modulo 2^128: intermediate values may wrap, the coefficients fit.
fn counts(n: usize, m: usize) -> Vec<u128> {
    let (few, many) = (n.min(m), n.max(m));
    let mut counts = vec![0_u128; few * many + 1];
    counts[0] = 1;
    for step in 1..=few {
        let shift = many + step;
        for u in (shift..counts.len()).rev() {
            counts[u] = counts[u].wrapping_sub(counts[u - shift]);
        }
        for u in step..counts.len() {
            counts[u] = counts[u].wrapping_add(counts[u - step]);
        }
    }
    counts
}

/// Number of choices of ranks by sum: the coefficients of ∏ (1 + q^i), i = 1 … n (Wilcoxon 1945).
fn sign_counts(n: usize) -> Vec<u128> {
    let mut counts = vec![0_u128; n * (n + 1) / 2 + 1];
    counts[0] = 1;
    for rank in 1..=n {
        for sum in (rank..counts.len()).rev() {
            counts[sum] += counts[sum - rank];
        }
    }
    counts
}

fn cumulative(counts: &[u128]) -> Vec<f64> {
    let total: u128 = counts.iter().sum();
    let mut so_far = 0_u128;
    let share = |count: &u128| {
        so_far += count;
        so_far as f64 / total as f64
    };
    counts.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_p_values_are_those_of_the_tables() {
        for (n, expected) in [(3, 0.1), (4, 0.0286), (5, 0.0079), (6, 0.0022), (7, 0.00058)] {
            assert!((minimum_two_sided_p(n, n) - expected).abs() < 5e-5);
        }
        assert!((minimum_two_sided_p(3, 4) - 2.0 / 35.0).abs() < 1e-15);
        assert_eq!(minimum_two_sided_p(0, 5), 1.0);
        assert_eq!(minimum_two_sided_p(100_000, 100_000), 0.0);
    }

    #[test]
    fn counts_are_those_of_the_published_tables() {
        // Mann and Whitney 1947, table 1, n = m = 3: P(U <= u) = 0.05 0.10 0.20 0.35 0.50 ...
        assert_eq!(counts(3, 3), [1, 1, 2, 3, 3, 3, 3, 2, 1, 1]);
        assert_eq!(counts(3, 4), counts(4, 3));
        assert_eq!(counts(3, 4).iter().sum::<u128>(), 35);
        assert_eq!(counts(0, 4), [1]);
    }

    #[test]
    fn signs_are_counted_as_by_hand_and_do_not_overflow() {
        assert_eq!(sign_counts(4), [1, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1]);
        let counts = sign_counts(EXACT_SIGNS_LIMIT);
        assert!(counts.iter().eq(counts.iter().rev()));
        assert_eq!(counts.iter().sum::<u128>(), 1 << EXACT_SIGNS_LIMIT);
        let (n, exact) = (100.0_f64, NullDistribution::signed_rank(100));
        let normal = NullDistribution::Normal {
            mean: n * (n + 1.0) / 4.0,
            standard_deviation: (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt(),
        };
        for sum in [1700, 1955, 2200, 2525] {
            assert!((exact.at_most(sum) - normal.at_most(sum)).abs() < 1e-3);
        }
    }

    #[test]
    fn the_largest_exact_counts_are_symmetric_and_do_not_wrap() {
        let counts = counts(64, 64);
        assert!(counts.iter().eq(counts.iter().rev()));
        let total: u128 = counts.iter().sum();
        let expected = arrangements(64, 64);
        assert!((total as f64 / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn exact_gives_way_to_normal_without_a_jump() {
        let NullDistribution::Exact(exact) = NullDistribution::new(60, 60) else {
            panic!("3,600 pairs are counted");
        };
        let normal =
            NullDistribution::Normal { mean: 1800.0, standard_deviation: (36300.0_f64).sqrt() };
        for u in [1300, 1400, 1428, 1600, 1800] {
            assert!((exact[u as usize] - normal.at_most(u)).abs() < 1e-3);
        }
        assert!(matches!(NullDistribution::new(70, 70), NullDistribution::Normal { .. }));
        assert!(matches!(NullDistribution::new(5, 5_000), NullDistribution::Exact(_)));
    }
}
