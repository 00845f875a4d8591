//! Looks at growing data: after which numbers of blocks a comparison may stop, and at which level.
//!
//! Testing at 5 % after every few blocks is wrong in far more than 5 % of all cases. Here an
//! α-spending function (Lan and DeMets 1983) divides α among the looks, and boundaries follow from
//! the joint distribution of the statistics by numerical integration (Armitage, McPherson and Rowe
//! 1969; Jennison and Turnbull 2000, chapter 19). The function is α f^ρ (Kim and DeMets 1987) of
//! the information fraction f, the share of the most blocks.
//!
//! The boundaries are those of normal statistics, stated as p-values. A test of few values is
//! compared with the same p-value by its own distribution, such as t (Pocock 1977; Jennison and
//! Turnbull 2000, section 4.4); simulations in `tests/sequential.rs` show that this keeps α. So a
//! [`Look`] is a level for any test, of a difference and of an equivalence alike: "the ratio is 1"
//! and "the ratio is outside the margin" exclude each other, so each may spend the whole of α. The
//! one-sided tests of an equivalence have the p-values of the two-sided boundary, which is slightly
//! stricter than their own. The intervals of confidence 1 - level are repeated confidence
//! intervals: all of them include the true ratio with probability 1 - α (Jennison and Turnbull
//! 1989).

use std::f64::consts::PI;

use crate::distributions::normal_cdf;
use crate::search::first_float_where;

/// The exponent ρ of the spending function: of those that leave something for later looks, the one
/// with the fewest blocks at a true 5 % (docs/ab.md).
const SPENDING: f64 = 0.5;
/// Blocks of the first looks: few, and even, so that the order within blocks is balanced.
const EARLY: [u32; 11] = [4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 34];
/// Further looks are this many times later.
const FURTHER: f64 = 1.2;
/// Points of the grid between two boundaries; odd, for Simpson's rule.
const POINTS: usize = 129;
/// No boundary is farther out, in standard deviations.
const FARTHEST: f64 = 40.0;
/// Time that the most blocks of [`most_blocks`] take, in ns.
const WITHIN_NS: f64 = 60e9;
/// The fewest and the most blocks that it returns.
const FEWEST_MOST: f64 = 40.0;
const MOST_MOST: f64 = 200.0;

/// A planned look at the data.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Look {
    /// Number of blocks after which it is taken.
    pub blocks: u32,
    /// α of the tests at this look; 1 - level is the confidence of its interval.
    pub level: f64,
}

/// The looks of a comparison of at most this many blocks, none before `first` blocks; with these
/// levels the chance of a false claim at any of them is at most `alpha`, above 0 and below 1.
pub fn looks(first: u32, most_blocks: u32, alpha: f64) -> Vec<Look> {
    let mut walk = Walk::default();
    let mut spent = 0.0;
    let look = |blocks: u32| {
        let all = alpha * (f64::from(blocks) / f64::from(most_blocks)).powf(SPENDING);
        let z = walk.boundary(f64::from(blocks), all - spent);
        walk.go_on(f64::from(blocks), z);
        spent = all;
        Look { blocks, level: 2.0 * normal_cdf(-z) }
    };
    schedule(first, most_blocks).into_iter().map(look).collect()
}

/// The looks of [`looks`], with levels that sum to `alpha`: for any test at all, the chance of a false
/// claim at any of them is at most `alpha`, as no distribution is assumed. Slightly stricter.
pub fn looks_of_any_test(first: u32, most_blocks: u32, alpha: f64) -> Vec<Look> {
    let mut spent = 0.0;
    let look = |blocks: u32| {
        let all = alpha * (f64::from(blocks) / f64::from(most_blocks)).powf(SPENDING);
        let level = all - spent;
        spent = all;
        Look { blocks, level }
    };
    schedule(first, most_blocks).into_iter().map(look).collect()
}

/// The most blocks of a comparison whose first blocks took these times, in ns: as many as a minute
/// has, at least 40 and at most 200.
///
/// It may be chosen after these blocks and before the first look, as it depends on the sum of A and
/// B only: if both are the same, the sum says nothing about which of them was slower.
pub fn most_blocks(block_ns: &[f64]) -> u32 {
    let typical_ns = crate::median(block_ns).unwrap_or(WITHIN_NS).max(1.0);
    2 * ((WITHIN_NS / typical_ns).clamp(FEWEST_MOST, MOST_MOST) / 2.0).floor() as u32
}

/// The numbers of blocks after which to look, from the first to the most.
fn schedule(first: u32, most_blocks: u32) -> Vec<u32> {
    let further = |blocks: &u32| Some(2 * (f64::from(*blocks) * FURTHER / 2.0).round() as u32);
    let last = further(&EARLY[EARLY.len() - 1]);
    let all = EARLY.into_iter().chain(std::iter::successors(last, further));
    let all = all.skip_while(|blocks| *blocks < first);
    all.take_while(|blocks| *blocks < most_blocks).chain([most_blocks]).collect()
}

/// The sum of independent normal values of variance 1 that was within all boundaries so far.
struct Walk {
    blocks: f64,
    /// Sums, and their densities times the weights of the integration.
    grid: Vec<(f64, f64)>,
}

impl Default for Walk {
    fn default() -> Self {
        Self { blocks: 0.0, grid: vec![(0.0, 1.0)] }
    }
}

impl Walk {
    /// The standard deviation of what is added until then.
    fn step(&self, blocks: f64) -> f64 {
        (blocks - self.blocks).sqrt()
    }

    /// The chance that the first sum beyond a boundary, in standard deviations, is this one.
    fn beyond(&self, blocks: f64, z: f64) -> f64 {
        let (limit, step) = (z * blocks.sqrt(), self.step(blocks));
        let either =
            |sum: f64| normal_cdf((sum - limit) / step) + normal_cdf((-limit - sum) / step);
        self.grid.iter().map(|(sum, weight)| weight * either(*sum)).sum()
    }

    /// The boundary that is crossed with this chance.
    fn boundary(&self, blocks: f64, chance: f64) -> f64 {
        first_float_where(0.0, FARTHEST, |z| self.beyond(blocks, z) <= chance)
    }

    /// Continues within a boundary.
    fn go_on(&mut self, blocks: f64, z: f64) {
        let (limit, step) = (z * blocks.sqrt(), self.step(blocks));
        let width = 2.0 * limit / (POINTS - 1) as f64;
        let density = |to: f64| {
            let from =
                |(sum, weight): &(f64, f64)| weight * (-((to - sum) / step).powi(2) / 2.0).exp();
            self.grid.iter().map(from).sum::<f64>() / (step * (2.0 * PI).sqrt())
        };
        let point = |index: usize| {
            let to = index as f64 * width - limit;
            let simpson = match index {
                0 => 1.0,
                last if last == POINTS - 1 => 1.0,
                index if index % 2 == 1 => 4.0,
                _ => 2.0,
            };
            (to, density(to) * simpson * width / 3.0)
        };
        self.grid = (0..POINTS).map(point).collect();
        self.blocks = blocks;
    }
}

#[cfg(test)]
mod tests {
    use itertools::Itertools;

    use super::*;

    #[test]
    fn a_minute_has_the_most_blocks_within_limits() {
        let most = |seconds: f64| most_blocks(&[seconds * 1e9; 6]);
        assert_eq!([0.001, 0.3, 0.5, 1.0, 2.0, 20.0].map(most), [200, 200, 120, 60, 40, 40]);
        assert_eq!(most_blocks(&[]), 40);
    }

    /// The chance that one of five sums is beyond its boundary.
    fn of_five(z: impl Fn(f64) -> f64) -> f64 {
        let mut walk = Walk::default();
        let look = |number: u32| {
            let blocks = f64::from(number);
            let chance = walk.beyond(blocks, z(blocks));
            walk.go_on(blocks, z(blocks));
            chance
        };
        (1..=5).map(look).sum()
    }

    /// Jennison and Turnbull (2000), tables 2.1 and 2.3: the constants of Pocock and of O'Brien and
    /// Fleming for five looks at α = 5 %.
    #[test]
    fn published_boundaries_have_the_chance_that_is_published() {
        let (pocock, o_brien) = (of_five(|_| 2.413), of_five(|k| 2.040 * (5.0 / k).sqrt()));
        assert!((pocock - 0.05).abs() < 1e-4, "{pocock}");
        assert!((o_brien - 0.05).abs() < 1e-4, "{o_brien}");
    }

    #[test]
    fn one_look_has_all_of_alpha_and_several_share_it() {
        for most in [2, 4] {
            let [only] = looks(4, most, 0.05)[..] else { panic!("one look") };
            assert!(only.blocks == most && (only.level - 0.05).abs() < 1e-9, "{only:?}");
        }
        let all = looks(4, 40, 0.05);
        assert_eq!(all.iter().map(|look| look.blocks).collect::<Vec<_>>()[..3], [4, 6, 8]);
        assert_eq!((all.len(), all[11].blocks), (12, 40));
        // The first look spends its share, and no level is α.
        assert!((all[0].level - 0.05 * 0.1_f64.sqrt()).abs() < 1e-9, "{all:?}");
        assert!(all.iter().all(|look| look.level > 0.004 && look.level < 0.02), "{all:?}");
        assert!(all.iter().map(|look| look.level).sum::<f64>() > 0.05, "as looks are dependent");
    }

    #[test]
    fn levels_of_any_test_sum_to_alpha() {
        let all = looks_of_any_test(4, 24, 0.01);
        assert!((all.iter().map(|look| look.level).sum::<f64>() - 0.01).abs() < 1e-12);
        let normal = looks(4, 24, 0.01);
        assert!(all.iter().zip(&normal).all(|(any, it)| any.blocks == it.blocks));
        assert!(all.iter().zip(&normal).all(|(any, it)| any.level <= it.level * (1.0 + 1e-9)));
    }

    #[test]
    fn looks_are_even_ever_later_and_end_at_the_most_blocks() {
        for (first, most) in [4, 6].into_iter().cartesian_product([2, 5, 17, 40, 41, 300, 10_000]) {
            let blocks = schedule(first, most);
            assert!(blocks[0] == first.min(most), "{blocks:?}");
            assert!(blocks.windows(2).all(|pair| pair[0] < pair[1]), "{blocks:?}");
            assert!(blocks[..blocks.len() - 1].iter().all(|it| it.is_multiple_of(2)), "{blocks:?}");
            assert!(blocks.last() == Some(&most) && blocks.len() < 50, "{blocks:?}");
        }
    }
}
