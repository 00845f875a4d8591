//! Exact LRU stack distances (Mattson et al. 1970).
//!
//! The last keys are in a short list. Each other key has a mark on a line of time, where it left
//! the list; a distance is the length of the list and the number of marks after the key's own
//! (Bennett and Kruskal, "LRU stack processing", 1975; Olken, LBL-12370, 1981). Marks are bits; a
//! Fenwick tree counts full words of 64. A used-up line is compacted.

use super::key_table::KeyTable;

/// Length of the list of last keys.
const TOP: usize = 8;
/// Marks in a word.
const WORD: usize = u64::BITS as usize;
/// Fewest positions on the line.
const LEAST_LINE: usize = 1 << 10;
/// Positions for each key after a compaction.
const LINE_PER_KEY: usize = 4;

/// Keys in the order of their last references; empty by default, with a line at the first key.
#[derive(Clone, Debug, Default)]
pub struct LruStack {
    table: KeyTable,
    /// The last keys, the very last one first.
    top: [u64; TOP],
    top_slots: [u32; TOP],
    top_length: usize,
    /// One bit a position: whether it is a key's own.
    marks: Vec<u64>,
    /// Fenwick tree of the marks in full words, from index 1.
    tree: Vec<u32>,
    /// The slot of the key that left the list at a position.
    owners: Vec<u32>,
    /// The next free position.
    now: usize,
}

impl LruStack {
    /// Number of keys.
    pub fn keys(&self) -> usize {
        self.table.len()
    }

    /// Refers to a key; returns the number of other keys since its last reference, if it had one.
    #[inline]
    pub fn reference(&mut self, key: u64) -> Option<u32> {
        for place in 0..self.top_length {
            if self.top[place] == key {
                let slot = self.top_slots[place];
                self.raise(key, slot, place);
                return Some(place as u32);
            }
        }
        self.reference_below(key)
    }

    /// Refers to a key that is not in the list.
    fn reference_below(&mut self, key: u64) -> Option<u32> {
        if self.now == self.owners.len() {
            self.move_together();
        }
        let (slot, position) = self.table.find(key);
        let Some(position) = position else {
            self.first_reference(slot, key);
            return None;
        };
        let distance = TOP as u32 + self.marks_behind(position as usize);
        self.unmark(position as usize);
        self.push(key, slot);
        Some(distance)
    }

    #[cold]
    fn first_reference(&mut self, mut slot: u32, key: u64) {
        if self.table.is_full() {
            self.retain(|_| true);
            slot = self.table.find(key).0;
        }
        self.table.insert(slot, key, 0);
        self.push(key, slot);
    }

    /// Puts a new key on top of the list; the last one may leave it.
    #[inline]
    fn push(&mut self, key: u64, slot: u32) {
        if self.top_length < TOP {
            self.top_length += 1;
        } else {
            self.mark(self.top_slots[TOP - 1]);
        }
        self.raise(key, slot, self.top_length - 1);
    }

    /// Moves the keys above `place` down, and a key to the top.
    #[inline]
    fn raise(&mut self, key: u64, slot: u32, place: usize) {
        for place in (0..place.min(TOP - 1)).rev() {
            self.top[place + 1] = self.top[place];
            self.top_slots[place + 1] = self.top_slots[place];
        }
        (self.top[0], self.top_slots[0]) = (key, slot);
    }

    /// Marks after a position that is marked.
    #[inline]
    fn marks_behind(&self, position: usize) -> u32 {
        let word = position / WORD;
        // The position's own mark and those before it in its word.
        let here = self.marks[word] << (WORD - 1 - position % WORD);
        let mut before = here.count_ones();
        let mut index = word;
        while index > 0 {
            before += self.tree[index];
            index &= index - 1;
        }
        (self.table.len() - self.top_length) as u32 - before
    }

    #[inline]
    fn unmark(&mut self, position: usize) {
        let word = position / WORD;
        self.marks[word] &= !(1 << (position % WORD));
        if word < self.now / WORD {
            let mut index = word + 1;
            while index < self.tree.len() {
                self.tree[index] -= 1;
                index += index & index.wrapping_neg();
            }
        }
    }

    /// Marks the current position for a key and advances.
    #[inline]
    fn mark(&mut self, slot: u32) {
        let (word, bit) = (self.now / WORD, self.now % WORD);
        self.table.set(slot, self.now as u32);
        self.owners[self.now] = slot;
        self.marks[word] |= 1 << bit;
        self.now += 1;
        if bit == WORD - 1 {
            self.count_word(word);
        }
    }

    /// Adds a full word to the tree.
    fn count_word(&mut self, word: usize) {
        let marks = self.marks[word].count_ones();
        let mut index = word + 1;
        while index < self.tree.len() {
            self.tree[index] += marks;
            index += index & index.wrapping_neg();
        }
    }

    /// Starts an empty line with capacity for some keys.
    fn clear_line(&mut self, keys: usize) {
        let length = (LINE_PER_KEY * keys).next_power_of_two().max(LEAST_LINE);
        self.marks.clear();
        self.marks.resize(length / WORD, 0);
        self.tree.clear();
        self.tree.resize(length / WORD + 1, 0);
        self.owners.resize(length, 0);
        self.now = 0;
    }

    /// The slots of the marks in their order.
    fn marked_slots(&self) -> Vec<u32> {
        let marked = |position: &usize| self.marks[position / WORD] >> (position % WORD) & 1 == 1;
        (0..self.now).filter(marked).map(|position| self.owners[position]).collect()
    }

    /// Compacts the marks to the start of the line.
    #[cold]
    fn move_together(&mut self) {
        let slots = self.marked_slots();
        self.clear_line(slots.len());
        for slot in slots {
            self.mark(slot);
        }
    }

    /// Visits every key, the longest unused one first.
    pub fn for_each(&self, mut visit: impl FnMut(u64)) {
        let slots = self.marked_slots();
        slots.into_iter().for_each(|slot| visit(self.table.key(slot)));
        self.top[..self.top_length].iter().rev().for_each(|key| visit(*key));
    }

    /// Forgets all other keys; these keep their order.
    pub fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        let mut keys = Vec::new();
        self.for_each(|key| keys.extend(Some(key).filter(|key| keep(*key))));
        self.table = KeyTable::for_length(2 * keys.len());
        self.top_length = 0;
        self.clear_line(keys.len());
        for key in keys {
            let (slot, _) = self.table.find(key);
            self.table.insert(slot, key, 0);
            self.push(key, slot);
        }
    }
}
