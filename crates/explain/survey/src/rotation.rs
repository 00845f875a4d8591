//! Which of many owners of counters are read in full: the most active ones, and the others in turn.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Figures of a [`crate::glance`]: waits, CPU time, memory.
pub(crate) const FIGURES: usize = 3;
/// One part in this many of what can be read is for those whose turn it is.
const TURN_SHARE: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Activity {
    figures: [u64; FIGURES],
    /// Their growth between the last two glances.
    grown: [u64; FIGURES],
}

/// Owners of counters, and how active they were.
#[derive(Debug)]
pub(crate) struct Rotation<K> {
    known: BTreeMap<K, Activity>,
    /// Whose turn it was last; these are read once more, because a change needs two readings.
    turn: BTreeSet<K>,
    last: Option<K>,
}

impl<K: Ord + Clone> Rotation<K> {
    pub(crate) fn new() -> Self {
        Self { known: BTreeMap::new(), turn: BTreeSet::new(), last: None }
    }

    pub(crate) fn count(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.known.keys()
    }

    /// Records what a glance saw. One that was unknown has not grown, unless it is new: then all of
    /// its figures are growth.
    pub(crate) fn saw(&mut self, key: K, figures: [u64; FIGURES], is_new: bool) {
        let unknown = if is_new { [0; FIGURES] } else { figures };
        let before = self.known.get(&key).map_or(unknown, |activity| activity.figures);
        let grown = std::array::from_fn(|at| figures[at].saturating_sub(before[at]));
        self.known.insert(key, Activity { figures, grown });
    }

    /// Adds one without a glance.
    pub(crate) fn add(&mut self, key: K) {
        let none = Activity { figures: [0; FIGURES], grown: [0; FIGURES] };
        self.known.entry(key).or_insert(none);
    }

    pub(crate) fn remove(&mut self, key: &K) {
        self.known.remove(key);
    }

    /// Forgets all for which `stays` is false.
    pub(crate) fn retain(&mut self, stays: impl Fn(&K) -> bool) {
        self.known.retain(|key, _| stays(key));
    }

    /// At most `count` to be read: all, or the most active by each figure, those whose turn it was
    /// and those whose turn it is.
    pub(crate) fn choose(&mut self, count: usize) -> BTreeSet<K> {
        if self.known.len() <= count {
            self.turn.clear();
            return self.known.keys().cloned().collect();
        }
        // However little can be read, each has its turn.
        let turn_count = (count / TURN_SHARE).max(1);
        let turn = self.next_turn(turn_count);
        let mut chosen: BTreeSet<K> = std::mem::replace(&mut self.turn, turn.clone());
        chosen.retain(|key| self.known.contains_key(key));
        chosen.extend(turn);
        let each = count.saturating_sub(2 * turn_count) / FIGURES;
        for figure in 0..FIGURES {
            chosen.extend(self.most_active(figure, each).into_iter().cloned());
        }
        chosen
    }

    /// Owners whose figure grew most, at most `count`, the largest growth first.
    pub(crate) fn most_active(&self, figure: usize, count: usize) -> Vec<&K> {
        let mut active: Vec<(u64, &K)> = self
            .known
            .iter()
            .map(|(key, activity)| (activity.grown[figure], key))
            .filter(|(grown, _)| *grown > 0)
            .collect();
        let count = count.min(active.len());
        if count < active.len() {
            active.select_nth_unstable_by(count, |one, other| other.cmp(one));
        }
        active.truncate(count);
        active.sort_unstable_by(|one, other| other.cmp(one));
        active.into_iter().map(|(_, key)| key).collect()
    }

    /// The next `count` in the order of their keys, from the beginning after the last.
    fn next_turn(&mut self, count: usize) -> BTreeSet<K> {
        let after = self.last.clone().map_or(Bound::Unbounded, Bound::Excluded);
        let later = self.known.range((after, Bound::Unbounded)).map(|(key, _)| key);
        let turn: Vec<K> = later.chain(self.known.keys()).take(count).cloned().collect();
        self.last = turn.last().cloned().or(self.last.take());
        turn.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(count: u32) -> Rotation<u32> {
        let mut rotation = Rotation::new();
        (0..count).for_each(|key| rotation.saw(key, [0; FIGURES], false));
        rotation
    }

    #[test]
    fn a_few_are_all_read_and_of_many_each_has_its_turn_twice_in_a_row() {
        assert_eq!(of(10).choose(10).len(), 10);
        let mut many = of(100);
        let looks: Vec<BTreeSet<u32>> = (0..30).map(|_| many.choose(20)).collect();
        assert!(looks.iter().all(|chosen| chosen.len() <= 20));
        for key in 0..100 {
            let pair = |pair: &[BTreeSet<u32>]| pair.iter().all(|chosen| chosen.contains(&key));
            assert!(looks.windows(2).any(pair), "{key} is never read twice in a row");
        }
    }

    #[test]
    fn the_most_active_by_each_figure_are_read() {
        let mut many = of(1000);
        for (key, figures) in [(700, [9, 0, 0]), (800, [0, 9, 0]), (900, [0, 0, 9])] {
            many.saw(key, figures, false);
        }
        let chosen = many.choose(12);
        assert!([700, 800, 900].iter().all(|key| chosen.contains(key)), "{chosen:?}");
        assert_eq!(many.most_active(0, 5), [&700]);
        many.saw(700, [9, 0, 0], false);
        assert!(many.most_active(0, 5).is_empty(), "it is idle now");
        many.saw(1000, [7, 0, 0], false);
        many.saw(1001, [7, 0, 0], true);
        assert_eq!(many.most_active(0, 5), [&1001], "only the new one has grown");
    }

    #[test]
    fn what_has_ended_is_not_read_again() {
        let mut many = of(100);
        many.choose(20);
        many.retain(|key| *key >= 50);
        many.remove(&50);
        assert!(many.choose(20).iter().all(|key| *key > 50));
        assert_eq!(many.count(), 49);
    }
}
