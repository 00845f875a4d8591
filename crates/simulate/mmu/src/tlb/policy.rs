//! Replacement in a set.

use model::named;

named! {
    /// A replacement policy.
    #[derive(Default)]
    pub enum Policy {
        /// The entry that was used longest ago.
        #[default]
        Lru = "lru",
        /// The entry that came first.
        Fifo = "fifo",
        /// A binary tree over the ways, whose bits point away from what was used last.
        Plru = "plru",
        /// The first entry that was not used since every entry of its set had been.
        Nru = "nru",
        /// Any entry, by a seeded generator.
        Random = "random",
    }
}

impl Policy {
    /// Why a set cannot have this many ways, if it cannot.
    pub(crate) fn refuses(self, ways: usize) -> Option<&'static str> {
        match self {
            Self::Plru if !ways.is_power_of_two() => {
                Some("the tree of policy \"plru\" needs a power of two of ways")
            }
            Self::Plru | Self::Nru if ways > 128 => {
                Some("policies \"plru\" and \"nru\" keep the state of at most 128 ways")
            }
            _ => None,
        }
    }
}

/// Bits of a tree after a use of `way`: every node above it points to its other half. Node 1 is the
/// root, node `n` has the children `2n` and `2n + 1`, and bit `n` points to the upper half.
pub(crate) fn tree_after_use(mut bits: u128, way: usize, ways: usize) -> u128 {
    let mut node = way + ways;
    while node > 1 {
        let upper = node & 1;
        node >>= 1;
        bits = bits & !(1 << node) | u128::from(upper == 0) << node;
    }
    bits
}

/// The way to which a tree's bits point.
pub(crate) fn tree_victim(bits: u128, ways: usize) -> usize {
    let mut node = 1;
    while node < ways {
        node = node << 1 | usize::from(bits >> node & 1 == 1);
    }
    node - ways
}

/// Use bits after a use of `way`; when all are set, only this one stays.
pub(crate) fn bits_after_use(bits: u128, way: usize, ways: usize) -> u128 {
    let bits = bits | 1 << way;
    let all = u128::MAX >> (128 - ways);
    if bits == all { 1 << way } else { bits }
}

/// The first way whose use bit is not set; the only way, if there is just one.
pub(crate) fn bits_victim(bits: u128, ways: usize) -> usize {
    (bits.trailing_ones() as usize).min(ways - 1)
}
