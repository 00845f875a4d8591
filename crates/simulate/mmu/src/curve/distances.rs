//! The exact miss-ratio curve: a count of stack distances.

use super::LruStack;

/// Counts the LRU stack distances of references, and so the misses of every size.
#[derive(Clone, Debug, Default)]
pub struct StackDistances {
    stack: LruStack,
    last: Option<u64>,
    /// Number of references at each distance; distance 0 repeats a key.
    counts: Vec<u64>,
    /// How many references there were.
    pub references: u64,
}

impl StackDistances {
    /// Refers to one key `count` times in a row, at least once.
    #[inline]
    pub fn run(&mut self, key: u64, count: u64) {
        self.references += count;
        if self.last == Some(key) {
            self.counts[0] += count;
            return;
        }
        self.last = Some(key);
        match self.stack.reference(key) {
            Some(distance) => self.counts[distance as usize] += 1,
            // A new key makes one more distance possible.
            None => self.counts.push(0),
        }
        self.counts[0] += count - 1;
    }

    /// First references: they miss whatever the size.
    pub fn cold(&self) -> u64 {
        self.stack.keys() as u64
    }

    /// Misses of a fully associative LRU cache by ascending `sizes` in entries, including first
    /// references.
    pub fn misses(&self, sizes: &[u64]) -> Vec<u64> {
        let mut misses = self.references;
        let mut distance = 0;
        let mut at = |size: &u64| {
            while distance < self.counts.len() && (distance as u64) < *size {
                misses -= self.counts[distance];
                distance += 1;
            }
            misses
        };
        sizes.iter().map(&mut at).collect()
    }
}
