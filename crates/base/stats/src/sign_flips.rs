//! Paired differences of many quantities, tested together: sign flips with the largest statistic.
//!
//! Each block has a difference of every quantity, such as the time of each function in a run of one
//! program less that in a run of another. If the two programs are the same, all differences of a block
//! might as well have the opposite signs. So every choice of signs, one a block, is equally likely, and
//! the largest statistic of all quantities has a known distribution, however the quantities depend on each
//! other: functions contain the functions that they call. A quantity differs if its own statistic is
//! among the largest of that distribution (Westfall and Young, "Resampling-Based Multiple Testing", 1993).
//! The chance that any quantity is wrongly said to differ is at most the level, for any noise.
//!
//! The statistic is r = |Σ d| / √Σ d². Flips leave its denominator as it is, it grows with Student's t of
//! the same differences (t² = (n - 1) r² / (n - r²)), and it cannot exceed √n, so that a quantity that
//! happens to have equal differences does not hide all others, as it would by its t.

use rand::RngExt;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::describe::standard_deviation;
use crate::{alpha, distributions};

/// Up to this number of blocks all choices of signs are tried.
const MOST_EXHAUSTIVE: usize = 14;
/// With more blocks so many choices are tried; the differences as they are count as one.
const ARRANGEMENTS: usize = 1 << (MOST_EXHAUSTIVE - 1);
const SEED: u64 = 1993;
/// What statistics that are equal may differ by, by rounding.
const ROUNDING: f64 = 1e-9;
/// The chance of finding a difference of [`SignFlips::smallest_seen`] is 1 less half of this.
const BOTH_MISSED: f64 = 0.2;

/// Most differences of which [`sign_flip_p`] tries all choices of signs.
const MOST_ALONE: usize = 17;

/// Two-sided p-value of Fisher's sign-flip test that differences are symmetric about 0: the share
/// of all choices of signs whose sum is at least as far from 0 as observed. `None` without
/// differences, if one is not finite, or for more than 17.
pub fn sign_flip_p(differences: &[f64]) -> Option<f64> {
    let is_finite = differences.iter().all(|value| value.is_finite());
    if !(1..=MOST_ALONE).contains(&differences.len()) || !is_finite {
        return None;
    }
    let sums = all_arrangements(&[scaled(differences)], differences.len());
    let extreme = sums.iter().filter(|sum| **sum >= sums[0] - ROUNDING).count();
    Some(extreme as f64 / sums.len() as f64)
}

/// Many quantities with paired differences.
#[derive(Clone, Debug)]
pub struct SignFlips {
    statistics: Vec<f64>,
    /// The largest statistic of each choice of signs, the largest first.
    largest: Vec<f64>,
    spreads: Vec<f64>,
    blocks: usize,
}

impl SignFlips {
    /// Takes the differences of each quantity, one a block. `None` without quantities, with less than two
    /// blocks, with different numbers of blocks, and if a difference is not finite.
    pub fn new(differences: &[Vec<f64>]) -> Option<Self> {
        let blocks = differences.first()?.len();
        let is_complete =
            |of: &Vec<f64>| of.len() == blocks && of.iter().all(|value| value.is_finite());
        if blocks < 2 || !differences.iter().all(is_complete) {
            return None;
        }
        let scaled: Vec<Vec<f64>> = differences.iter().map(|of| scaled(of)).collect();
        let statistics = scaled.iter().map(|of| of.iter().sum::<f64>().abs()).collect();
        // Turning all signs around changes no statistic, so the first block keeps its sign.
        let mut largest = match blocks <= MOST_EXHAUSTIVE {
            true => all_arrangements(&scaled, blocks),
            false => some_arrangements(&scaled, blocks),
        };
        largest.sort_by(|one, other| other.total_cmp(one));
        let spreads = differences.iter().filter_map(|of| standard_deviation(of)).collect();
        Some(Self { statistics, largest, spreads, blocks })
    }

    /// The p-value of each quantity, adjusted for all of them: compared with the level itself.
    pub fn p_values(&self) -> Vec<f64> {
        let p = |statistic: &f64| {
            let least = statistic - ROUNDING;
            self.largest.partition_point(|it| *it >= least) as f64 / self.largest.len() as f64
        };
        self.statistics.iter().map(p).collect()
    }

    /// The smallest mean difference that would have been found at a level in nine of ten cases, of each
    /// quantity, with its spread over the blocks. `None` if so few blocks find none.
    pub fn smallest_seen(&self, level: f64) -> Option<Vec<f64>> {
        let allowed = (level * self.largest.len() as f64) as usize;
        if allowed == 0 {
            return None;
        }
        let (critical, blocks) = (*self.largest.get(allowed)?, self.blocks as f64);
        let rest = blocks - critical * critical;
        if rest <= ROUNDING {
            return None;
        }
        let freedom = blocks - 1.0;
        let t =
            critical * (freedom / rest).sqrt() + distributions::t_critical(BOTH_MISSED, freedom);
        Some(self.spreads.iter().map(|spread| t * spread / blocks.sqrt()).collect())
    }
}

/// Differences whose sum is the statistic, with its sign.
fn scaled(differences: &[f64]) -> Vec<f64> {
    let largest = differences.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    if largest == 0.0 {
        return vec![0.0; differences.len()];
    }
    let norm = differences.iter().map(|value| (value / largest).powi(2)).sum::<f64>().sqrt();
    differences.iter().map(|value| value / largest / norm).collect()
}

fn largest_of(sums: &[f64]) -> f64 {
    sums.iter().fold(0.0, |most: f64, sum| most.max(sum.abs()))
}

/// The largest statistic of each choice of signs, in the order of a Gray code: one sign changes at a time.
fn all_arrangements(scaled: &[Vec<f64>], blocks: usize) -> Vec<f64> {
    let mut sums: Vec<f64> = scaled.iter().map(|of| of.iter().sum()).collect();
    let mut is_flipped = vec![false; blocks];
    let mut found = vec![largest_of(&sums)];
    for number in 1..1_u64 << (blocks - 1) {
        let block = 1 + number.trailing_zeros() as usize;
        is_flipped[block] = !is_flipped[block];
        let factor = if is_flipped[block] { -2.0 } else { 2.0 };
        for (sum, of) in sums.iter_mut().zip(scaled) {
            *sum += factor * of[block];
        }
        found.push(largest_of(&sums));
    }
    found
}

/// The largest statistic of random choices of signs, and that of the differences as they are.
fn some_arrangements(scaled: &[Vec<f64>], blocks: usize) -> Vec<f64> {
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    let as_it_is = largest_of(&scaled.iter().map(|of| of.iter().sum()).collect::<Vec<f64>>());
    let mut arrangement = |_| {
        let signs: Vec<f64> =
            (0..blocks).map(|_| if random.random::<bool>() { 1.0 } else { -1.0 }).collect();
        let sum = |of: &Vec<f64>| of.iter().zip(&signs).map(|(value, sign)| value * sign).sum();
        largest_of(&scaled.iter().map(sum).collect::<Vec<f64>>())
    };
    let others: Vec<f64> = (1..ARRANGEMENTS).map(&mut arrangement).collect();
    [vec![as_it_is], others].concat()
}

/// The interval of the ratio of two means, of a part to the whole that it belongs to, both measured in each
/// block: all ratios ρ for which the mean of `part` - ρ `whole` may be 0 by Student's t (Fieller, "Some
/// problems in interval estimation", 1954). `None` if the mean of the whole may be 0, if there are less
/// than two blocks, or a number is not finite.
pub fn share_interval(part: &[f64], whole: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let count = part.len() as f64;
    if part.len() != whole.len() || part.len() < 2 {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
    let (part_mean, whole_mean) = (mean(part), mean(whole));
    let covariance = |one: &[f64], one_mean: f64, other: &[f64], other_mean: f64| {
        let products = one.iter().zip(other).map(|(a, b)| (a - one_mean) * (b - other_mean));
        products.sum::<f64>() / (count - 1.0)
    };
    let t = distributions::t_critical(alpha(confidence)?, count - 1.0);
    let scale = t * t / count;
    let square = whole_mean.powi(2) - scale * covariance(whole, whole_mean, whole, whole_mean);
    let middle = part_mean * whole_mean - scale * covariance(part, part_mean, whole, whole_mean);
    let constant = part_mean.powi(2) - scale * covariance(part, part_mean, part, part_mean);
    if square <= 0.0 || !square.is_finite() {
        return None;
    }
    let root = (middle.powi(2) - square * constant).max(0.0).sqrt();
    let ends = ((middle - root) / square, (middle + root) / square);
    (ends.0.is_finite() && ends.1.is_finite()).then_some(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_quantity_has_the_p_value_of_fishers_test() {
        let differences = vec![1.0, -2.0, 3.0, 4.0, 0.5];
        let found = SignFlips::new(std::slice::from_ref(&differences)).unwrap();
        assert!((found.p_values()[0] - sign_flip_p(&differences).unwrap()).abs() < 1e-12);
        assert_eq!(sign_flip_p(&[1.0, 2.0, 3.0, 0.5]), Some(2.0 / 16.0));
        // +1 -2 +3 is as far from 0 as 2: all but ±(1 + 2 - 3).
        assert_eq!(sign_flip_p(&[1.0, -2.0, 3.0]), Some(6.0 / 8.0));
        assert!(sign_flip_p(&[1.0; 17]).is_some());
        assert_eq!(sign_flip_p(&[1.0; 18]), None);
        assert_eq!(sign_flip_p(&[1.0; 70]), None);
        assert_eq!(sign_flip_p(&[]), None);
    }

    #[test]
    fn several_quantities_share_the_level() {
        let clear = vec![10.0, 11.0, 9.0, 10.5, 9.5, 10.0, 10.2, 9.9, 10.1, 10.0];
        let noise = vec![1.0, -1.2, 0.9, -0.8, 1.1, -1.0, 0.7, -0.9, 1.0, -1.1];
        let found = SignFlips::new(&[clear.clone(), noise.clone(), vec![0.0; 10]]).unwrap();
        let p = found.p_values();
        assert!(p[0] < 0.01, "{p:?}");
        assert!(p[1] > 0.5 && p[2] > 0.99, "{p:?}");
        let seen = found.smallest_seen(0.01).unwrap();
        assert!(seen[1] > seen[0] && seen[2] == 0.0, "{seen:?}");
        let few: Vec<f64> = clear[..6].to_vec();
        let found = SignFlips::new(&[few]).unwrap();
        assert_eq!(found.smallest_seen(0.01), None, "2 of 64 choices are more than 1 %");
        // More blocks than have all of their choices tried.
        let long = |of: &[f64]| [of, of].concat();
        let p = SignFlips::new(&[long(&clear), long(&noise)]).unwrap().p_values();
        assert!(p[0] < 0.001 && p[1] > 0.3, "{p:?}");
    }

    #[test]
    fn nothing_is_computed_from_nothing() {
        assert!(SignFlips::new(&[]).is_none());
        assert!(SignFlips::new(&[vec![1.0]]).is_none());
        assert!(SignFlips::new(&[vec![1.0, 2.0], vec![1.0]]).is_none());
        assert!(SignFlips::new(&[vec![1.0, f64::NAN]]).is_none());
        assert_eq!(share_interval(&[1.0], &[1.0], 0.95), None);
        assert_eq!(share_interval(&[1.0, 1.0], &[1.0, -1.0], 0.95), None);
    }

    #[test]
    fn a_share_has_the_interval_of_fieller() {
        let whole = [10.0, 12.0, 9.0, 11.0, 10.0, 8.0];
        let half: Vec<f64> = whole.iter().map(|it| it / 2.0).collect();
        let (low, high) = share_interval(&half, &whole, 0.95).unwrap();
        assert!((low - 0.5).abs() < 1e-6 && (high - 0.5).abs() < 1e-6, "{low} {high}");
        let part = [6.0, 5.0, 5.5, 4.5, 5.0, 5.2];
        let (low, high) = share_interval(&part, &whole, 0.95).unwrap();
        let ratio = part.iter().sum::<f64>() / whole.iter().sum::<f64>();
        assert!(low < ratio && ratio < high && high - low < 0.3, "{low} {ratio} {high}");
        // The mean of the part less the end times the whole has an interval that ends at 0.
        let rest: Vec<f64> = part.iter().zip(&whole).map(|(one, all)| one - high * all).collect();
        let zeros = [0.0; 6];
        let ends = crate::mean_difference(&zeros, &rest, crate::Pairing::Paired, 0.95).unwrap();
        assert!(ends.1.abs() < 1e-6, "{ends:?}");
    }
}
