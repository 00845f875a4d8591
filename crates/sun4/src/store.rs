//! A store of single entries, first in, first out: what the groups of the Sun-4 are compared with.

/// Entries by group and page.
#[derive(Clone, Debug)]
pub(crate) struct EntryStore {
    entries: Vec<(u32, u64)>,
    capacity: usize,
    hand: usize,
}

impl EntryStore {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { entries: Vec::new(), capacity, hand: 0 }
    }

    /// Takes an entry in, and returns what had to go for it.
    pub(crate) fn insert(&mut self, group: u32, page: u64) -> Option<(u32, u64)> {
        if self.entries.len() < self.capacity {
            self.entries.push((group, page));
            return None;
        }
        let gone = std::mem::replace(&mut self.entries[self.hand], (group, page));
        self.hand = (self.hand + 1) % self.capacity;
        Some(gone)
    }

    pub(crate) fn remove(&mut self, group: u32) {
        // The order of the rest stays: from the oldest, at the hand.
        self.entries.rotate_left(self.hand);
        self.hand = 0;
        self.entries.retain(|(of, _)| *of != group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first() {
        let mut store = EntryStore::new(2);
        assert_eq!(store.insert(1, 1), None);
        assert_eq!(store.insert(2, 1), None);
        assert_eq!(store.insert(3, 1), Some((1, 1)));
        store.remove(2);
        assert_eq!(store.insert(4, 1), None);
        assert_eq!(store.insert(5, 1), Some((3, 1)));
    }
}
