//! A set-associative array of entries: TLBs, page-walk caches, lines of page tables.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::page_size::{NOTHING, PAGE_MASK};
use super::policy::{self, Policy};

/// Up to so many ways are moved one by one while the entry is looked for; more are looked through
/// eight at a time first.
const FEW: usize = 16;

/// How the set of an entry is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Index {
    /// By the lowest bits of the page's number.
    #[default]
    Low,
    /// By those, XORed with as many bits above them.
    Xor,
}

/// Measures of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) entries: usize,
    /// Divides the entries into a power of two of sets.
    pub(crate) ways: usize,
    pub(crate) policy: Policy,
    pub(crate) index: Index,
}

/// An array of entries.
///
/// Sets under LRU and FIFO are kept in order, so that the last entry is the next victim; the ways
/// of the others stay where they are, and free ones are taken from the first on.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    entries: Vec<u64>,
    /// Bits of each set under PLRU and NRU.
    state: Vec<u128>,
    ways: usize,
    set_mask: u64,
    /// By how much the number is shifted before it is XORed; 63 makes it zero.
    fold: u32,
    policy: Policy,
    generator: Pcg64Mcg,
}

/// Sets of four ways under LRU.
#[derive(Debug)]
pub(crate) struct FourWays {
    entries: Vec<u64>,
    set_mask: u64,
    fold: u32,
}

/// What an access found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The entry.
    Hit,
    /// Not; it took a free place.
    Filled,
    /// Not; it took the place of this one.
    Evicted(u64),
}

impl Array {
    pub(crate) fn new(shape: Shape, seed: u64) -> Self {
        let sets = shape.entries / shape.ways;
        let stateful = matches!(shape.policy, Policy::Plru | Policy::Nru);
        Self {
            entries: vec![NOTHING; shape.entries],
            state: vec![0; if stateful { sets } else { 0 }],
            ways: shape.ways,
            set_mask: sets as u64 - 1,
            fold: match shape.index {
                Index::Low => 63,
                Index::Xor => sets.trailing_zeros(),
            },
            policy: shape.policy,
            generator: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// Looks an entry up, notes its use, and puts it in if it is not there.
    #[inline]
    pub(crate) fn access(&mut self, entry: u64) -> Found {
        let set = self.set(entry);
        match self.policy {
            Policy::Lru if self.ways == 4 => front_of_four(&mut self.entries, set, entry),
            Policy::Lru => {
                let ways = &mut self.entries[set * self.ways..][..self.ways];
                if self.ways <= FEW { to_front(ways, entry) } else { to_front_of_many(ways, entry) }
            }
            _ => self.access_other(entry, set),
        }
    }

    /// Takes the sets out, if they are of four ways under LRU, for a loop that looks into nothing
    /// else of this array; until they are given back it must not be used.
    pub(crate) fn take_four(&mut self) -> Option<FourWays> {
        (self.policy == Policy::Lru && self.ways == 4).then(|| FourWays {
            entries: std::mem::take(&mut self.entries),
            set_mask: self.set_mask,
            fold: self.fold,
        })
    }

    /// Takes back what was taken out.
    pub(crate) fn give_back(&mut self, four: FourWays) {
        self.entries = four.entries;
    }

    /// Whether an entry is there; notes nothing.
    pub(crate) fn has(&self, entry: u64) -> bool {
        let set = self.set(entry);
        self.entries[set * self.ways..][..self.ways].contains(&entry)
    }

    /// Removes what is to go; returns how many that were.
    pub(crate) fn remove(&mut self, goes: impl Fn(u64) -> bool) -> u64 {
        let ordered = matches!(self.policy, Policy::Lru | Policy::Fifo);
        let mut removed = 0;
        for set in self.entries.chunks_exact_mut(self.ways) {
            let mut kept = 0;
            for way in 0..set.len() {
                let entry = set[way];
                if entry == NOTHING {
                    continue;
                }
                if goes(entry) {
                    set[way] = NOTHING;
                    removed += 1;
                } else if ordered {
                    set.swap(kept, way);
                    kept += 1;
                }
            }
        }
        removed
    }

    /// The valid entries of each set, in the order in which they are kept.
    #[cfg(test)]
    pub(crate) fn sets(&self) -> impl Iterator<Item = Vec<u64>> {
        let valid = |set: &[u64]| set.iter().copied().filter(|entry| *entry != NOTHING).collect();
        self.entries.chunks_exact(self.ways).map(valid)
    }

    #[inline]
    fn set(&self, entry: u64) -> usize {
        set(entry, self.fold, self.set_mask)
    }

    /// Policies whose sets are not in the order of use.
    fn access_other(&mut self, entry: u64, set: usize) -> Found {
        let ways = &mut self.entries[set * self.ways..][..self.ways];
        if let Some(way) = ways.iter().position(|held| *held == entry) {
            self.note_use(set, way);
            return Found::Hit;
        }
        if self.policy == Policy::Fifo {
            let last = ways[ways.len() - 1];
            ways.rotate_right(1);
            ways[0] = entry;
            return found(last);
        }
        let free = ways.iter().position(|held| *held == NOTHING);
        let way = free.unwrap_or_else(|| match self.policy {
            Policy::Plru => policy::tree_victim(self.state[set], ways.len()),
            Policy::Nru => policy::bits_victim(self.state[set], ways.len()),
            _ => below(&mut self.generator, ways.len()),
        });
        let before = std::mem::replace(&mut ways[way], entry);
        self.note_use(set, way);
        found(before)
    }

    fn note_use(&mut self, set: usize, way: usize) {
        match self.policy {
            Policy::Plru => {
                self.state[set] = policy::tree_after_use(self.state[set], way, self.ways);
            }
            Policy::Nru => {
                self.state[set] = policy::bits_after_use(self.state[set], way, self.ways);
            }
            _ => {}
        }
    }
}

impl FourWays {
    /// As [`Array::access`].
    #[inline(always)]
    pub(crate) fn access(&mut self, entry: u64) -> Found {
        let set = set(entry, self.fold, self.set_mask);
        front_of_four(&mut self.entries, set, entry)
    }
}

#[inline(always)]
fn set(entry: u64, fold: u32, set_mask: u64) -> usize {
    let number = entry & PAGE_MASK;
    ((number ^ number >> fold) & set_mask) as usize
}

/// Four ways without a branch but the last one: which way hits is what a processor cannot guess.
#[inline(always)]
fn front_of_four(entries: &mut [u64], set: usize, entry: u64) -> Found {
    let ways = &mut entries.as_chunks_mut::<4>().0[set];
    let [a, b, c, d] = *ways;
    let first = a == entry;
    let second = first | (b == entry);
    let third = second | (c == entry);
    *ways =
        [entry, if first { b } else { a }, if second { c } else { b }, if third { d } else { c }];
    if third | (d == entry) { Found::Hit } else { found(d) }
}

/// Moves an entry to the front of its set.
#[inline(never)]
fn to_front(ways: &mut [u64], entry: u64) -> Found {
    let mut carried = entry;
    for held in ways {
        let before = std::mem::replace(held, carried);
        if before == entry {
            return Found::Hit;
        }
        carried = before;
    }
    found(carried)
}

/// Moves an entry to the front of a set of many ways.
#[inline(never)]
fn to_front_of_many(ways: &mut [u64], entry: u64) -> Found {
    let equal = |chunk: &[u64]| chunk.iter().fold(false, |any, held| any | (*held == entry));
    let chunk = ways.chunks(8).position(equal);
    let place = chunk.and_then(|chunk| {
        let within = ways[chunk * 8..].iter().position(|held| *held == entry);
        within.map(|within| chunk * 8 + within)
    });
    let last = ways.len() - 1;
    let before = ways[last];
    ways.copy_within(..place.unwrap_or(last), 1);
    ways[0] = entry;
    if place.is_some() { Found::Hit } else { found(before) }
}

#[inline]
fn found(before: u64) -> Found {
    if before == NOTHING { Found::Filled } else { Found::Evicted(before) }
}

/// A number below `bound`; every one is as likely, to one part in 2^64.
fn below(generator: &mut Pcg64Mcg, bound: usize) -> usize {
    ((u128::from(generator.next_u64()) * bound as u128) >> 64) as usize
}
