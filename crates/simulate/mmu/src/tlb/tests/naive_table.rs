//! The obvious array: a list of slots with the times of their uses.

use std::collections::BTreeMap;

use crate::tlb::Index;
use crate::tlb::array::Shape;
use crate::tlb::generator::Generator;
use crate::tlb::policy::Policy;

/// Tag, logarithm of the size in small pages, number of the page in pages of that size.
pub(super) type Key = (u64, u32, u64);

#[derive(Clone)]
struct Slot {
    key: Key,
    came: u64,
    used: u64,
}

/// An array of slots.
pub(super) struct Table {
    shape: Shape,
    slots: Vec<Vec<Option<Slot>>>,
    /// For each set and half-open range of ways, whether the upper half is to go next.
    upper: BTreeMap<(usize, usize, usize), bool>,
    /// For each set, which ways were used.
    used: Vec<Vec<bool>>,
    time: u64,
    generator: Generator,
}

impl Table {
    pub(super) fn new(shape: Shape, seed: u64) -> Self {
        let sets = shape.entries / shape.ways;
        Self {
            shape,
            slots: vec![vec![None; shape.ways]; sets],
            upper: BTreeMap::new(),
            used: vec![vec![false; shape.ways]; sets],
            time: 0,
            generator: Generator::new(seed),
        }
    }

    pub(super) fn has(&self, key: Key) -> bool {
        self.slots.iter().flatten().flatten().any(|slot| slot.key == key)
    }

    /// Whether it was present, and whether another one was evicted.
    pub(super) fn access(&mut self, key: Key) -> (bool, bool) {
        self.time += 1;
        let sets = self.slots.len() as u64;
        let set = match self.shape.index {
            Index::Low => key.2 % sets,
            Index::Xor => (key.2 % sets) ^ (key.2 / sets % sets),
        } as usize;
        let is = |slot: &Option<Slot>| slot.as_ref().is_some_and(|slot| slot.key == key);
        let there = self.slots[set].iter().position(is);
        let free = self.slots[set].iter().position(Option::is_none);
        let way = there.or(free).unwrap_or_else(|| self.victim(set));
        if let (true, Some(slot)) = (there.is_some(), &mut self.slots[set][way]) {
            slot.used = self.time;
        } else {
            self.slots[set][way] = Some(Slot { key, came: self.time, used: self.time });
        }
        self.note_use(set, way);
        (there.is_some(), there.or(free).is_none())
    }

    pub(super) fn remove(&mut self, goes: impl Fn(Key) -> bool) -> u64 {
        let before = self.keys().len();
        for slot in self.slots.iter_mut().flatten() {
            slot.take_if(|slot| goes(slot.key));
        }
        (before - self.keys().len()) as u64
    }

    pub(super) fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<_> = self.slots.iter().flatten().flatten().map(|slot| slot.key).collect();
        keys.sort_unstable();
        keys
    }

    fn victim(&mut self, set: usize) -> usize {
        let ways = self.shape.ways;
        let by = |time: fn(&Slot) -> u64| {
            (0..ways).min_by_key(|way| self.slots[set][*way].as_ref().map(time)).unwrap()
        };
        match self.shape.policy {
            Policy::Lru => by(|slot| slot.used),
            Policy::Fifo => by(|slot| slot.came),
            Policy::Nru => self.used[set].iter().position(|used| !used).unwrap_or(0),
            Policy::Random => self.generator.below(ways),
            Policy::Plru => {
                let (mut from, mut to) = (0, ways);
                while to - from > 1 {
                    let middle = usize::midpoint(from, to);
                    let upper = self.upper.get(&(set, from, to)).copied().unwrap_or(false);
                    (from, to) = if upper { (middle, to) } else { (from, middle) };
                }
                from
            }
        }
    }

    fn note_use(&mut self, set: usize, way: usize) {
        self.used[set][way] = true;
        if self.used[set].iter().all(|used| *used) {
            self.used[set].fill(false);
            self.used[set][way] = true;
        }
        let (mut from, mut to) = (0, self.shape.ways);
        while to - from > 1 {
            let middle = usize::midpoint(from, to);
            self.upper.insert((set, from, to), way < middle);
            (from, to) = if way < middle { (from, middle) } else { (middle, to) };
        }
    }
}
