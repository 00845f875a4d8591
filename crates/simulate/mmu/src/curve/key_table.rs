//! Keys to positions: a hash table with open addressing, in one array.

/// 2^64 / φ, whose products spread neighbours over the table (Knuth, TAOCP 3, section 6.4).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// Position of a free slot.
const EMPTY: u32 = u32::MAX;
/// Fewest slots, as a logarithm.
const LEAST_LOG2: u32 = 6;

#[derive(Clone, Copy, Debug)]
struct Slot {
    key: u64,
    position: u32,
}

/// A table from keys to positions below 2^32 - 1. Slots stay where they are until it is replaced.
#[derive(Clone, Debug)]
pub(super) struct KeyTable {
    slots: Vec<Slot>,
    /// The shift from a product to an index.
    shift: u32,
    length: usize,
}

impl Default for KeyTable {
    fn default() -> Self {
        Self::for_length(0)
    }
}

impl KeyTable {
    /// An empty table that takes `length` keys before it is full.
    pub(super) fn for_length(length: usize) -> Self {
        let log2 = (4 * length).div_ceil(3).next_power_of_two().ilog2().max(LEAST_LOG2);
        Self {
            slots: vec![Slot { key: 0, position: EMPTY }; 1 << log2],
            shift: u64::BITS - log2,
            length: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Whether another key would make it slow.
    pub(super) fn is_full(&self) -> bool {
        self.length >= self.slots.len() / 4 * 3
    }

    /// The slot of a key, and its position if it is in the table; else the slot where it would go.
    #[inline]
    pub(super) fn find(&self, key: u64) -> (u32, Option<u32>) {
        let mask = self.slots.len() - 1;
        let mut index = (key.wrapping_mul(SPREAD) >> self.shift) as usize & mask;
        loop {
            let slot = self.slots[index];
            if slot.position == EMPTY {
                return (index as u32, None);
            }
            if slot.key == key {
                return (index as u32, Some(slot.position));
            }
            index = (index + 1) & mask;
        }
    }

    /// Puts a new key into the slot that [`KeyTable::find`] returned.
    pub(super) fn insert(&mut self, slot: u32, key: u64, position: u32) {
        self.slots[slot as usize] = Slot { key, position };
        self.length += 1;
    }

    pub(super) fn key(&self, slot: u32) -> u64 {
        self.slots[slot as usize].key
    }

    /// Gives the key of a slot another position.
    #[inline]
    pub(super) fn set(&mut self, slot: u32, position: u32) {
        self.slots[slot as usize].position = position;
    }

    /// Doubles the capacity; every key moves to another slot.
    pub(super) fn grow(&mut self) {
        let mut larger = Self::for_length(2 * self.length);
        for Slot { key, position } in self.slots.drain(..).filter(|slot| slot.position != EMPTY) {
            let (slot, _) = larger.find(key);
            larger.insert(slot, key, position);
        }
        *self = larger;
    }
}
