//! Wilcoxon's signed rank test of pairs, and the ratio that belongs to it.

use crate::RatioInterval;
use crate::hodges_lehmann::sorted_positive;
use crate::null_distribution::{EXACT_SIGNS_LIMIT, NullDistribution, normal_cdf};
use crate::rank_inversion::RankInversion;
use crate::ranks::MidRanks;
use crate::walsh::WalshRatios;

/// The smallest two-sided p-value that `pairs` pairs can give: 2 / 2^pairs, at most 1.
#[must_use]
pub fn minimum_signed_rank_p(pairs: usize) -> f64 {
    (2.0 * 0.5_f64.powf(pairs as f64)).min(1.0)
}

/// Two-sided p-value of Wilcoxon's (1945) signed rank test that differences are symmetric about 0:
/// of the logarithms of pairs' ratios, say.
///
/// * Absolute differences that are equal share the middle of their ranks. Differences of 0 take
///   part in the ranking and have no sign (Pratt 1959): leaving them out first would let a pair
///   that changed against the others count for more because of pairs that did not change.
/// * Up to 126 differences p is exact given these ranks: twice the smaller tail, over all choices
///   of the signs.
/// * Beyond, the sum is taken as normal with variance Σ r² / 4 over the ranks with a sign, with
///   continuity correction; the absolute error is then below 1e-3.
///
/// When all differences are 0 the result is 1.
///
/// # Errors
/// `None` when there is no difference or one is not finite.
#[must_use]
pub fn signed_rank_p(differences: &[f64]) -> Option<f64> {
    if differences.is_empty() || !differences.iter().all(|value| value.is_finite()) {
        return None;
    }
    let sizes = |chosen: fn(f64) -> bool| -> Vec<f64> {
        let kept = differences.iter().copied().filter(|value| chosen(*value));
        kept.map(f64::abs).collect()
    };
    let ranks = MidRanks::new(&sizes(|value| value > 0.0), &sizes(|value| value <= 0.0));
    let zeros = differences.iter().filter(|value| **value == 0.0).count();
    // Zeros are the smallest, and so the first.
    let signed = &ranks.doubled[zeros..];
    let all: u64 = signed.iter().sum();
    let smaller = ranks.first_doubled_sum.min(all - ranks.first_doubled_sum);
    let tail = if signed.len() <= EXACT_SIGNS_LIMIT {
        share_at_most(signed, smaller)
    } else {
        // Doubled ranks: the sums are spaced by 2, and the variance is four times as large.
        let squares: f64 = signed.iter().map(|rank| (*rank as f64).powi(2)).sum();
        normal_cdf((smaller as f64 + 1.0 - all as f64 / 2.0) / (squares / 4.0).sqrt())
    };
    Some((2.0 * tail).min(1.0))
}

/// Geometric mean ratio of `second` to `first` over pairs, told by position, by Hodges and Lehmann
/// (1963): the exponential of the median Walsh average (the mean of two, or one with itself) of the
/// logarithms of the ratios. The interval inverts Wilcoxon's signed rank test; it supposes that the
/// logarithms of the ratios are symmetric about their middle, as they are when a block's disturbance
/// reaches both of its runs alike.
///
/// Everything else is as in [`hodges_lehmann_ratio`](crate::hodges_lehmann_ratio): the interval
/// lies between the k-th smallest and the k-th largest, exactly up to 126 pairs; ties make it cover
/// more often; and when no k gives `confidence`, it is the full range of the ratios, with the
/// coverage 1 - 2 / 2^pairs that it has.
///
/// # Errors
/// `None` when there is no pair, the lengths differ, a value is not positive and finite, a ratio is
/// too large or too small for a float, or `confidence` is not strictly between 0 and 1.
#[must_use]
pub fn paired_hodges_lehmann_ratio(
    first: &[f64],
    second: &[f64],
    confidence: f64,
) -> Option<RatioInterval> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    walsh_inversion(first, second)?.interval(confidence)
}

/// Wilcoxon's signed rank test of every ratio of `second` to `first`.
pub(crate) fn walsh_inversion(first: &[f64], second: &[f64]) -> Option<RankInversion> {
    if first.len() != second.len() || first.iter().any(|value| *value < 0.0) {
        return None;
    }
    let ratios: Vec<f64> = first.iter().zip(second).map(|(first, second)| second / first).collect();
    let ratios = WalshRatios::new(&sorted_positive(&ratios)?);
    let null = NullDistribution::signed_rank(first.len());
    Some(RankInversion::new(ratios, null, minimum_signed_rank_p(first.len())))
}

/// The share of all choices of signs for which the positive ranks add up to at most `limit`.
/// Counts beyond 2^53 are rounded; only positive numbers are added.
fn share_at_most(ranks: &[u64], limit: u64) -> f64 {
    let limit = limit as usize;
    let mut ways = vec![0.0_f64; limit + 1];
    ways[0] = 1.0;
    for rank in ranks {
        let rank = *rank as usize;
        for sum in (rank..ways.len()).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    ways.iter().sum::<f64>() / 2.0_f64.powi(ranks.len() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separated_pairs_give_the_smallest_p() {
        for pairs in 1..=20 {
            let differences: Vec<f64> = (1..=pairs).map(f64::from).collect();
            let p = signed_rank_p(&differences).unwrap();
            assert!((p - minimum_signed_rank_p(pairs as usize)).abs() < 1e-15, "{pairs}");
        }
    }

    #[test]
    fn zeros_keep_their_ranks_and_have_no_sign() {
        // Ranks 1.5 1.5 3 4 5: of the eight signs of 3 4 5, only all negative is at most 0.
        assert_eq!(signed_rank_p(&[0.0, 0.0, 1.0, 2.0, 3.0]), Some(0.25));
        assert_eq!(signed_rank_p(&[0.0, -0.0, 0.0]), Some(1.0));
        // 4 against 3 + 5: sums 0 3 4 of eight are at most 4.
        assert_eq!(signed_rank_p(&[0.0, 0.0, 1.0, -2.0, 3.0]), Some(0.75));
    }

    #[test]
    fn a_constant_ratio_is_exact_and_as_sure_as_the_number_of_pairs() {
        let first = [100.0, 137.0, 12.5, 3.1, 88.0, 41.0];
        let second = first.map(|value| value * 1.2);
        let found = paired_hodges_lehmann_ratio(&first, &second, 0.95).unwrap();
        for end in [found.ratio, found.low, found.high] {
            assert!((end - 1.2).abs() < 1e-14, "{found:?}");
        }
        assert_eq!(found.confidence_attained, 1.0 - 2.0 / 64.0);
        let few = paired_hodges_lehmann_ratio(&first[..4], &second[..4], 0.95).unwrap();
        assert_eq!(few.confidence_attained, 1.0 - 2.0 / 16.0);
    }

    #[test]
    fn what_has_no_ratio_is_none() {
        let good = [1.0, 2.0];
        for bad in [&[][..], &[1.0], &[0.0, 1.0], &[-1.0, 1.0], &[f64::NAN, 1.0]] {
            assert_eq!(paired_hodges_lehmann_ratio(bad, &good, 0.95), None);
            assert_eq!(paired_hodges_lehmann_ratio(&good, bad, 0.95), None);
        }
        assert_eq!(paired_hodges_lehmann_ratio(&[-1.0], &[-2.0], 0.95), None);
        assert_eq!(paired_hodges_lehmann_ratio(&[], &[], 0.95), None);
        assert_eq!(paired_hodges_lehmann_ratio(&good, &good, 1.0), None);
        assert_eq!(signed_rank_p(&[]), None);
        assert_eq!(signed_rank_p(&[f64::NAN]), None);
    }
}
