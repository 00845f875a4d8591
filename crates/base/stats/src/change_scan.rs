//! Changes along an ordered axis of groups, such as the kernels of a history, by ranks alone.
//!
//! An *interval* is a run of neighbouring groups. At each of its splits Mann and Whitney's U counts
//! the pairs in which a value after the split is larger than one before it, and the interval's
//! statistic is the largest standardized |U|. An interval whose statistic exceeds a threshold has a
//! change somewhere inside (the Narrowest Significance Pursuit of Fryzlewicz 2024, with a rank
//! statistic).
//!
//! The threshold is a quantile, over random permutations of all values, of the largest statistic of
//! *all* intervals. Ranks within groups that have one distribution are a random permutation, whatever
//! that distribution is: heavy tails, two modes, anything. And the intervals without a change lie in
//! stretches of equal groups, so the largest statistic among them is at most what it would be if all
//! groups were equal. Therefore the chance that *any* reported interval has no change is at most the
//! level, wherever other changes are, for chaotic values too. Ties count half, which makes U less
//! variable, and the test stricter.
//!
//! A group may still lack values at a look, because nothing about it was open. Intervals with such a
//! group are left out, and the threshold stays that of all groups in full size: what is reported is a
//! part of what would be reported if every group were complete, so the level holds although the data
//! decided which groups continue.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// Seed of the permutations: the same groups have the same changes.
const SEED: u64 = 44;
/// Fewest and most permutations.
const FEWEST: usize = 999;
const MOST: usize = 19_999;
/// Permutations for each unit of 1 / level, so that the threshold is not an extreme value of the draws.
const FOR_EACH: f64 = 4.0;

/// A change between two groups of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The first group of the interval.
    pub first: usize,
    /// The last group of the interval: the change lies somewhere between `first` and `last`.
    pub last: usize,
    /// The last group before the most likely place of the change.
    pub before: usize,
    /// The standardized statistic at that place, above 0 where values rise.
    pub z: f64,
}

/// Finds changes, and keeps the thresholds that it has computed.
#[derive(Debug, Default)]
pub struct ChangeScan {
    /// The largest statistics of permutations in ascending order, by number and size of the groups.
    largest: BTreeMap<(usize, usize), Vec<f64>>,
}

impl ChangeScan {
    /// Every interval that has a change; the chance that any of them has none is at most `level`.
    /// All groups have `size` values in the end; `None` is a group that lacks some. Infinite values
    /// are allowed and tie with each other.
    ///
    /// # Panics
    ///
    /// Panics if a group has another size.
    pub fn intervals(
        &mut self,
        groups: &[Option<Vec<f64>>],
        size: usize,
        level: f64,
    ) -> Vec<Change> {
        assert!(groups.iter().flatten().all(|group| group.len() == size), "groups of one size");
        let Some(threshold) = self.threshold((groups.len(), size), level) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        each_interval(groups, size, &mut |change| {
            if change.z.abs() > threshold {
                found.push(change);
            }
        });
        found
    }

    /// The value that the largest statistic of all intervals exceeds with a chance of at most
    /// `level`; `None` if the permutations cannot resolve the level.
    fn threshold(&mut self, key: (usize, usize), level: f64) -> Option<f64> {
        let wanted = ((FOR_EACH / level).ceil() as usize).clamp(FEWEST, MOST);
        let known = self.largest.entry(key).or_default();
        if known.len() < wanted {
            *known = largest_statistics(key, wanted);
        }
        // The observed statistic is one of draws + 1 exchangeable ones.
        let above = (level * (known.len() + 1) as f64).floor() as usize;
        let position = (known.len() + 1).checked_sub(above)?;
        known.get(position.checked_sub(1)?).copied().filter(|_| above > 0)
    }
}

/// The narrowest of these intervals that have no place in common, along the axis; of equally narrow
/// ones the clearest.
pub fn narrowest(intervals: &[Change]) -> Vec<Change> {
    let mut sorted = intervals.to_vec();
    sorted.sort_by(|one, other| {
        let width = |it: &Change| it.last - it.first;
        width(one).cmp(&width(other)).then(other.z.abs().total_cmp(&one.z.abs()))
    });
    let mut chosen: Vec<Change> = Vec::new();
    for change in sorted {
        // Intervals may share a group: changes lie between groups.
        if chosen.iter().all(|it| change.last <= it.first || it.last <= change.first) {
            chosen.push(change);
        }
    }
    chosen.sort_by_key(|change| change.first);
    chosen
}

/// The largest statistics of random permutations, ascending.
fn largest_statistics((count, size): (usize, usize), draws: usize) -> Vec<f64> {
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    let mut values: Vec<f64> = (0..count * size).map(|value| value as f64).collect();
    let mut draw = |_| {
        values.shuffle(&mut random);
        let groups: Vec<_> = values.chunks(size.max(1)).map(|group| Some(group.to_vec())).collect();
        let mut most = 0.0_f64;
        each_interval(&groups, size, &mut |change| most = most.max(change.z.abs()));
        most
    };
    let mut largest: Vec<f64> = (0..draws).map(&mut draw).collect();
    largest.sort_by(f64::total_cmp);
    largest
}

/// Calls `found` with the best split of every interval of complete groups.
fn each_interval(groups: &[Option<Vec<f64>>], size: usize, found: &mut dyn FnMut(Change)) {
    let wins = Sums::new(groups);
    for first in (0..groups.len()).filter(|first| groups[*first].is_some()) {
        for (last, group) in groups.iter().enumerate().skip(first + 1) {
            if group.is_none() {
                break;
            }
            let mut best: Option<Change> = None;
            for before in first..last {
                let left = ((before + 1 - first) * size) as f64;
                let right = ((last - before) * size) as f64;
                let u = wins.between((first, before), (before + 1, last));
                let deviation = (left * right * (left + right + 1.0) / 12.0).sqrt();
                let z = (u - left * right / 2.0) / deviation;
                if best.is_none_or(|best| z.abs() > best.z.abs()) {
                    best = Some(Change { first, last, before, z });
                }
            }
            best.into_iter().for_each(&mut *found);
        }
    }
}

/// Sums over rectangles of groups: the pairs in which the later group's value is larger, ties half.
struct Sums {
    width: usize,
    /// Sums from the origin, one row and column more than there are groups.
    sums: Vec<f64>,
}

impl Sums {
    fn new(groups: &[Option<Vec<f64>>]) -> Self {
        let width = groups.len() + 1;
        let mut sums = vec![0.0; width * width];
        for (row, left) in groups.iter().enumerate() {
            for (column, right) in groups.iter().enumerate() {
                let wins = match (left, right) {
                    (Some(left), Some(right)) if column > row => wins(left, right),
                    _ => 0.0,
                };
                let at = |row: usize, column: usize| sums[row * width + column];
                sums[(row + 1) * width + column + 1] =
                    wins + at(row, column + 1) + at(row + 1, column) - at(row, column);
            }
        }
        Self { width, sums }
    }

    /// The sum over these rows and columns, both ends included.
    fn between(&self, rows: (usize, usize), columns: (usize, usize)) -> f64 {
        let at = |row: usize, column: usize| self.sums[row * self.width + column];
        at(rows.1 + 1, columns.1 + 1) - at(rows.0, columns.1 + 1) - at(rows.1 + 1, columns.0)
            + at(rows.0, columns.0)
    }
}

fn wins(left: &[f64], right: &[f64]) -> f64 {
    let mut wins = 0.0;
    for one in left {
        for other in right {
            wins += if other > one { 1.0 } else { 0.5 * f64::from(u8::from(other == one)) };
        }
    }
    wins
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups of this size around these values.
    fn groups(size: usize, bases: &[f64]) -> Vec<Option<Vec<f64>>> {
        let group = |base: &f64| Some((0..size).map(|it| base + 0.001 * it as f64).collect());
        bases.iter().map(group).collect()
    }

    fn found(groups: &[Option<Vec<f64>>], size: usize) -> Vec<Change> {
        narrowest(&ChangeScan::default().intervals(groups, size, 0.02))
    }

    #[test]
    fn a_step_of_many_groups_is_found_between_two_of_them() {
        let bases = [1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0, 3.0];
        let [change] = found(&groups(6, &bases), 6)[..] else { panic!("one change") };
        assert!(change.first <= 4 && change.last >= 5 && change.before == 4, "{change:?}");
        assert!(change.z > 0.0 && change.last - change.first < 6, "{change:?}");
    }

    #[test]
    fn up_and_down_are_two_changes() {
        let found = found(&groups(9, &[1.0, 1.0, 2.0, 2.0, 1.0, 1.0]), 9);
        let places: Vec<_> = found.iter().map(|it| (it.before, it.z > 0.0)).collect();
        assert_eq!(places, [(1, true), (3, false)]);
    }

    #[test]
    fn failures_are_the_largest_values() {
        let inf = f64::INFINITY;
        let found = found(&groups(8, &[1.0, 1.0, inf, inf]), 8);
        assert_eq!(found.iter().map(|it| (it.before, it.z > 0.0)).collect::<Vec<_>>(), [(1, true)]);
    }

    #[test]
    fn intervals_with_an_incomplete_group_are_left_out() {
        let mut groups = groups(9, &[1.0, 1.0, 2.0, 2.0]);
        assert_eq!(found(&groups, 9).len(), 1);
        groups[1] = None;
        assert!(found(&groups, 9).is_empty(), "no interval has both sides");
    }

    #[test]
    fn one_value_shows_nothing() {
        assert!(found(&groups(1, &[1.0, 9.0]), 1).is_empty());
        assert!(found(&groups(9, &[1.0]), 9).is_empty());
        assert!(found(&[], 4).is_empty());
    }

    #[test]
    fn sums_over_rectangles_are_those_of_all_pairs() {
        let groups = [vec![1.0, 5.0], vec![2.0, 2.0], vec![5.0, 0.0]].map(Some);
        let sums = Sums::new(&groups);
        assert_eq!(sums.between((0, 1), (2, 2)), wins(&[1.0, 5.0, 2.0, 2.0], &[5.0, 0.0]));
        assert_eq!(sums.between((0, 0), (1, 2)), wins(&[1.0, 5.0], &[2.0, 2.0, 5.0, 0.0]));
    }
}
