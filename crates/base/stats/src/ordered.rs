//! Ratios of several groups to the first one, when it is known that they do not fall.
//!
//! A limit that gets tighter costs the same or more. That order gives a group the evidence of its
//! neighbours: what is measured at a looser limit is a lower bound of the cost at a tighter one.

use crate::distributions::t_critical;
use crate::{alpha, logs};

/// The ratio of a group's geometric mean to the first group's, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct OrderedRatio {
    /// The estimate, by isotonic regression: it does not fall from group to group.
    pub ratio: f64,
    /// Lower end of the interval; 0 if nothing is known of the noise.
    pub low: f64,
    /// Upper end of the interval; infinite if nothing is known of the noise.
    pub high: f64,
    /// Standard error of the logarithm of the group's own ratio; infinite if nothing is known.
    pub standard_error: f64,
}

/// Ratios of the groups to the first of them, which is the cheapest.
///
/// Estimates are by isotonic regression (pool adjacent violators) of the logarithms. Either end of
/// an interval is by Student's t, at half of 1 - `confidence`, of the group pooled with those of its
/// neighbours that bound it and help most. The deviation is that within the groups up to the last
/// one used, so that noise beyond a knee does not blur what lies before it.
///
/// `None` without groups, for an empty one, a value that is not positive and finite, or a
/// `confidence` that is not strictly between 0 and 1.
pub fn ordered_ratios(groups: &[Vec<f64>], confidence: f64) -> Option<Vec<OrderedRatio>> {
    let alpha = alpha(confidence)?;
    let groups: Vec<Group> =
        groups.iter().map(|values| Group::new(values)).collect::<Option<_>>()?;
    let first = groups.first()?;
    let fitted = isotonic(&groups);
    let error_and_freedom = |last: usize, count: f64| -> (f64, f64) {
        let freedom: f64 = groups[..=last].iter().map(|group| group.count - 1.0).sum();
        let squares: f64 = groups[..=last].iter().map(|group| group.squares).sum();
        let variance = squares / freedom * (count.recip() + first.count.recip());
        (if freedom > 0.0 { variance.sqrt() } else { f64::INFINITY }, freedom)
    };
    let half_width = |last: usize, count: f64| match error_and_freedom(last, count) {
        // Without spread the estimate is exact.
        (error, _) if error == 0.0 || error.is_infinite() => error,
        (error, freedom) => t_critical(alpha, freedom) * error,
    };
    let block = |from: usize, to: usize| {
        let count: f64 = groups[from..=to].iter().map(|group| group.count).sum();
        let sum: f64 = groups[from..=to].iter().map(|group| group.mean * group.count).sum();
        (sum / count - first.mean, half_width(to, count))
    };
    let of_group = |index: usize| {
        let ratio = (fitted[index] - fitted[0]).exp();
        if index == 0 {
            return OrderedRatio { ratio, low: 1.0, high: 1.0, standard_error: 0.0 };
        }
        let lows = (1..=index).map(|from| block(from, index)).map(|(mean, half)| mean - half);
        let highs =
            (index..groups.len()).map(|to| block(index, to)).map(|(mean, half)| mean + half);
        let low = lows.fold(f64::NEG_INFINITY, f64::max).exp().min(ratio);
        let high = highs.fold(f64::INFINITY, f64::min).exp().max(ratio);
        let standard_error = error_and_freedom(index, groups[index].count).0;
        OrderedRatio { ratio, low, high, standard_error }
    };
    Some((0..groups.len()).map(of_group).collect())
}

struct Group {
    mean: f64,
    count: f64,
    /// Sum of squared deviations from the mean.
    squares: f64,
}

impl Group {
    fn new(values: &[f64]) -> Option<Self> {
        let logs = logs(values)?;
        let mean = crate::mean(&logs)?;
        let squares = logs.iter().map(|log| (log - mean).powi(2)).sum();
        Some(Self { mean, count: logs.len() as f64, squares })
    }
}

/// The weighted least-squares fit that does not fall (Ayer et al. 1955).
fn isotonic(groups: &[Group]) -> Vec<f64> {
    // Mean, weight and number of groups of each block.
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for group in groups {
        let mut block = (group.mean, group.count, 1);
        while let Some((mean, weight, length)) = blocks.pop_if(|before| before.0 > block.0) {
            let sum = weight + block.1;
            block = ((mean * weight + block.0 * block.1) / sum, sum, length + block.2);
        }
        blocks.push(block);
    }
    blocks.into_iter().flat_map(|(mean, _, length)| vec![mean; length]).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    #[test]
    fn two_groups_are_students_t() {
        let (a, b) = (vec![1.0, 1.1, 1.2], vec![2.0, 2.3, 2.1]);
        let ratio = ordered_ratios(&[a.clone(), b.clone()], 0.95).unwrap()[1];
        // By hand: means of logarithms, pooled variance, t(4, 0.975) = 2.776445.
        let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
        let (a, b) = (logs(&a), logs(&b));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / 3.0;
        let squares = |values: &[f64]| -> f64 {
            values.iter().map(|value| (value - mean(values)).powi(2)).sum()
        };
        let half = 2.776_445 * ((squares(&a) + squares(&b)) / 4.0 * 2.0 / 3.0).sqrt();
        let difference = mean(&b) - mean(&a);
        assert!((ratio.ratio.ln() - difference).abs() < 1e-12);
        assert!((ratio.low.ln() - (difference - half)).abs() < 1e-6, "{ratio:?}");
        assert!((ratio.high.ln() - (difference + half)).abs() < 1e-6, "{ratio:?}");
    }

    #[test]
    fn single_measurements_have_no_interval_and_wrong_values_none_at_all() {
        let made = ordered_ratios(&[vec![1.0], vec![2.0]], 0.95).unwrap()[1];
        assert_eq!((made.low, made.high), (0.0, f64::INFINITY));
        assert!((made.ratio - 2.0).abs() < 1e-12);
        for wrong in [vec![], vec![vec![]], vec![vec![1.0], vec![0.0]], vec![vec![f64::NAN]]] {
            assert_eq!(ordered_ratios(&wrong, 0.95), None);
        }
        assert_eq!(ordered_ratios(&[vec![1.0]], 1.0), None);
    }

    #[test]
    fn both_ends_hold_in_simulations() {
        let mut generator = Pcg64Mcg::seed_from_u64(7);
        let truth = [1.0, 1.0, 1.02, 1.08, 1.5];
        let (mut above, mut below, rounds) = (0, 0, 1000);
        for _ in 0..rounds {
            let mut normal = || {
                let uniform: f64 = 1.0 - generator.random::<f64>();
                let angle = std::f64::consts::TAU * generator.random::<f64>();
                (-2.0 * uniform.ln()).sqrt() * angle.cos()
            };
            let groups =
                truth.map(|ratio| (0..3).map(|_| ratio * (0.02 * normal()).exp()).collect());
            let made = ordered_ratios(&groups, 0.95).unwrap();
            above += usize::from(truth[2] > made[2].high);
            below += usize::from(truth[2] < made[2].low);
        }
        // Nominal: 2.5 % on either side; the choice among neighbours costs some of it.
        assert!(above <= rounds / 20 && below <= rounds / 20, "{above} and {below} of {rounds}");
    }

    proptest! {
        #[test]
        fn estimates_do_not_fall_and_lie_in_their_intervals(
            groups in prop::collection::vec(prop::collection::vec(0.5..2.0f64, 1..4), 1..8),
        ) {
            let made = ordered_ratios(&groups, 0.9).unwrap();
            prop_assert!(made.windows(2).all(|pair| pair[0].ratio <= pair[1].ratio + 1e-12));
            prop_assert!(made.iter().all(|it| it.low <= it.ratio && it.ratio <= it.high));
        }
    }
}
