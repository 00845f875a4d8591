//! A set-associative array of entries: TLBs, page-walk caches, lines of page tables.

use model::named;

use super::generator::Generator;
use super::page_size::{NOTHING, PAGE_MASK};
use super::policy::{self, Policy};

/// 2^64 / φ, whose products spread neighbours in their highest bits (Knuth, TAOCP 3, section 6.4).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// Number of hints of an array: enough that entries of a first level seldom share one.
const HINTS: usize = 1 << 12;
/// The most ways of a set, which are searched one by one.
pub(crate) const MOST_WAYS: usize = 4096;
/// Bits of a way's number.
const WAY_BITS: u32 = MOST_WAYS.trailing_zeros();
/// A place without an entry, which is taken before all others.
const FREE: Slot = Slot { entry: NOTHING, since: 0 };

named! {
    /// How the set of an entry is found.
    #[derive(Default)]
    pub enum Index {
        /// By the lowest bits of the page's number.
        #[default]
        Low = "low",
        /// By those, XORed with as many bits above them.
        Xor = "xor",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) entries: usize,
    /// Divides the entries into a power of two of sets.
    pub(crate) ways: usize,
    pub(crate) policy: Policy,
    pub(crate) index: Index,
}

/// An entry stays where it was put, so a table of hints can locate it, with one branch for a hit.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    /// Set by set.
    places: Vec<Slot>,
    /// The last place of an entry with each hash.
    hints: Box<[u32; HINTS]>,
    /// Accesses so far.
    now: u64,
    /// Bits of each set under PLRU and NRU.
    state: Vec<u128>,
    ways: usize,
    set_mask: u64,
    /// Shift of the number before it is XORed; 63 makes it zero.
    fold: u32,
    policy: Policy,
    generator: Generator,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    entry: u64,
    /// The access that used it last, under LRU, or put it in.
    since: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    Hit,
    /// Missed, and inserted into a free slot.
    Filled,
    /// Missed, and replaced this one.
    Evicted(u64),
}

impl Array {
    pub(crate) fn new(shape: Shape, seed: u64) -> Self {
        let sets = shape.entries / shape.ways;
        let stateful = matches!(shape.policy, Policy::Plru | Policy::Nru);
        Self {
            places: vec![FREE; shape.entries],
            hints: Box::new([0; HINTS]),
            now: 0,
            state: vec![0; if stateful { sets } else { 0 }],
            ways: shape.ways,
            set_mask: sets as u64 - 1,
            fold: match shape.index {
                Index::Low => 63,
                Index::Xor => sets.trailing_zeros(),
            },
            policy: shape.policy,
            generator: Generator::new(seed),
        }
    }

    /// Looks an entry up, records its use, and inserts it if it is missing.
    #[inline]
    pub(crate) fn access(&mut self, entry: u64) -> Lookup {
        self.now += 1;
        let hint = hint(entry);
        let place = self.hints[hint] as usize;
        if self.places[place].entry == entry {
            self.note_use(place);
            return Lookup::Hit;
        }
        self.search(entry, hint)
    }

    /// Accesses entries while hints find them, under LRU; returns their number.
    #[inline]
    pub(crate) fn hits(&mut self, entries: impl Iterator<Item = u64>) -> usize {
        if self.policy != Policy::Lru {
            return 0;
        }
        let (places, hints) = (&mut self.places[..], &self.hints);
        let before = self.now;
        let mut now = before;
        for entry in entries {
            let place = &mut places[hints[hint(entry)] as usize];
            if place.entry != entry {
                break;
            }
            now += 1;
            place.since = now;
        }
        self.now = now;
        (now - before) as usize
    }

    /// Whether an entry is present; this does not count as a use.
    pub(crate) fn has(&self, entry: u64) -> bool {
        self.places[self.set(entry)..][..self.ways].iter().any(|place| place.entry == entry)
    }

    /// Removes entries; returns their number.
    pub(crate) fn remove(&mut self, goes: impl Fn(u64) -> bool) -> u64 {
        let mut removed = 0;
        for place in &mut self.places {
            if place.entry != NOTHING && goes(place.entry) {
                *place = FREE;
                removed += 1;
            }
        }
        removed
    }

    /// The valid entries, set by set.
    #[cfg(test)]
    pub(crate) fn entries(&self) -> impl Iterator<Item = u64> {
        self.places.iter().map(|place| place.entry).filter(|entry| *entry != NOTHING)
    }

    /// The first place of an entry's set.
    #[inline]
    fn set(&self, entry: u64) -> usize {
        let number = entry & PAGE_MASK;
        ((number ^ number >> self.fold) & self.set_mask) as usize * self.ways
    }

    /// Looks an entry up in its set.
    #[inline(never)]
    fn search(&mut self, entry: u64, hint: usize) -> Lookup {
        let first = self.set(entry);
        let ways = &self.places[first..][..self.ways];
        let (way, found) = match ways.iter().position(|place| place.entry == entry) {
            Some(way) => (way, Lookup::Hit),
            None => {
                let way = self.victim(first);
                let fresh = Slot { entry, since: self.now };
                match std::mem::replace(&mut self.places[first + way], fresh).entry {
                    NOTHING => (way, Lookup::Filled),
                    before => (way, Lookup::Evicted(before)),
                }
            }
        };
        self.hints[hint] = (first + way) as u32;
        self.note_use(first + way);
        found
    }

    /// The way of a set that is to be filled next.
    fn victim(&mut self, first: usize) -> usize {
        let ways = &self.places[first..][..self.ways];
        if matches!(self.policy, Policy::Lru | Policy::Fifo) {
            // With the way in the lowest bits the least is found without a branch.
            let aged = ways.iter().zip(0..).map(|(place, way)| place.since << WAY_BITS | way);
            return aged.min().map_or(0, |oldest| (oldest & ((1 << WAY_BITS) - 1)) as usize);
        }
        let free = ways.iter().position(|place| place.entry == NOTHING);
        free.unwrap_or_else(|| match self.policy {
            Policy::Plru => policy::tree_victim(self.state[first / self.ways], self.ways),
            Policy::Nru => policy::bits_victim(self.state[first / self.ways], self.ways),
            _ => self.generator.below(self.ways),
        })
    }

    #[inline]
    fn note_use(&mut self, place: usize) {
        match self.policy {
            Policy::Lru => self.places[place].since = self.now,
            Policy::Fifo | Policy::Random => {}
            Policy::Plru | Policy::Nru => self.note_bits(place),
        }
    }

    fn note_bits(&mut self, place: usize) {
        let after_use = match self.policy {
            Policy::Plru => policy::tree_after_use,
            _ => policy::bits_after_use,
        };
        let state = &mut self.state[place / self.ways];
        *state = after_use(*state, place % self.ways, self.ways);
    }
}

/// The hash of an entry: the highest bits of a product.
#[inline]
fn hint(entry: u64) -> usize {
    (entry.wrapping_mul(SPREAD) >> (64 - HINTS.trailing_zeros())) as usize
}
