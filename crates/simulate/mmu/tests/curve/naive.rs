//! The plain models.

use std::collections::BTreeSet;

/// A stack as a list, the key referred to last at its end.
#[derive(Default)]
pub(crate) struct Stack(Vec<u64>);

impl Stack {
    /// How many other keys were referred to since; `None` at the first reference.
    pub(crate) fn reference(&mut self, key: u64) -> Option<u32> {
        let place = self.0.iter().rposition(|other| *other == key);
        let distance = place.map(|place| {
            self.0.remove(place);
            (self.0.len() - place) as u32
        });
        self.0.push(key);
        distance
    }
}

/// Misses of one LRU cache of `size` entries, without any notion of a stack distance.
pub(crate) fn lru_misses(keys: &[u64], size: usize) -> u64 {
    let mut entries: Vec<(u64, usize)> = Vec::new();
    let mut misses = 0;
    for (now, key) in keys.iter().enumerate() {
        if let Some(entry) = entries.iter_mut().find(|entry| entry.0 == *key) {
            entry.1 = now;
            continue;
        }
        misses += 1;
        if entries.len() == size {
            let oldest = (0..size).min_by_key(|index| entries[*index].1);
            entries.swap_remove(oldest.unwrap());
        }
        entries.push((*key, now));
    }
    misses
}

/// Distinct keys.
pub(crate) fn distinct(keys: &[u64]) -> u64 {
    keys.iter().collect::<BTreeSet<_>>().len() as u64
}

/// The mean over all times of the distinct keys among the last `window` references.
pub(crate) fn mean_working_set(keys: &[u64], window: usize) -> f64 {
    let sizes = (1..=keys.len()).map(|now| distinct(&keys[now.saturating_sub(window)..now]));
    sizes.sum::<u64>() as f64 / keys.len() as f64
}
