//! Where the places of a footprint lie in address space: dense, or one page per stretch.

use super::PAGE_BYTES;

const PAGE_BITS: u32 = PAGE_BYTES.trailing_zeros();

/// The places of a footprint, one per step.
#[derive(Clone, Debug)]
pub struct Layout {
    footprint_bytes: u64,
    step_bytes: u64,
    spread_bytes: u64,
    /// Pages to choose from in a stretch.
    choices: u64,
    key: u64,
}

impl Layout {
    /// A place in each `step_bytes` of `footprint_bytes`; each page lies at random within its own
    /// `spread_bytes`, because pages at equal distances would fall into one set of a TLB.
    pub fn new(footprint_bytes: u64, step_bytes: u64, spread_bytes: u64, seed: u64) -> Self {
        let choices = (spread_bytes / PAGE_BYTES).max(1);
        let spread_bytes = choices * PAGE_BYTES;
        Self {
            footprint_bytes,
            step_bytes: step_bytes.max(1),
            spread_bytes,
            choices,
            key: seed | 1,
        }
    }

    /// The number of places.
    pub fn places(&self) -> u64 {
        (self.footprint_bytes / self.step_bytes).max(1)
    }

    /// The number of pages.
    pub fn pages(&self) -> u64 {
        self.footprint_bytes.div_ceil(PAGE_BYTES).max(1)
    }

    /// Total address space in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.pages().saturating_mul(self.spread_bytes)
    }

    /// Offset of a page of the footprint in bytes.
    #[inline]
    pub fn page_offset(&self, page: u64) -> u64 {
        // The high half of a product by an odd number is random enough here.
        let word = (page + 1).wrapping_mul(self.key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        page * self.spread_bytes + (super::below(word, self.choices) << PAGE_BITS)
    }

    /// Offset of a place in bytes.
    #[inline]
    pub fn offset(&self, place: u64) -> usize {
        let at = place * self.step_bytes;
        if self.choices == 1 {
            return at as usize;
        }
        (self.page_offset(at >> PAGE_BITS) + (at & (PAGE_BYTES - 1))) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn dense_places_lie_a_step_apart() {
        let layout = Layout::new(3 * PAGE_BYTES, 64, PAGE_BYTES, 9);
        assert_eq!((layout.places(), layout.size_bytes()), (192, 3 * PAGE_BYTES));
        let offsets: Vec<usize> = (0..192).map(|place| layout.offset(place)).collect();
        assert_eq!(offsets, (0..192).map(|place| place * 64).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn each_stretch_has_exactly_one_page(
            pages in 1..200_u64, stretch in 1..600_u64, step in prop_oneof![Just(4096_u64), Just(64), 1..9000_u64], seed in any::<u64>(),
        ) {
            let (footprint, spread) = (pages * PAGE_BYTES, stretch * PAGE_BYTES);
            prop_assume!(step <= footprint);
            let layout = Layout::new(footprint, step, spread, seed);
            let mut touched: BTreeSet<u64> = BTreeSet::new();
            let mut offsets = BTreeSet::new();
            for place in 0..layout.places() {
                let offset = layout.offset(place) as u64;
                prop_assert!(offset < layout.size_bytes());
                // The page is that of the place in the footprint.
                prop_assert_eq!(offset / spread, place * step / PAGE_BYTES);
                prop_assert!(offsets.insert(offset));
                touched.insert(offset / PAGE_BYTES);
            }
            let stretches: BTreeSet<u64> = touched.iter().map(|page| page / stretch).collect();
            prop_assert_eq!(touched.len(), stretches.len());
            if PAGE_BYTES.is_multiple_of(step) {
                prop_assert_eq!(touched.len() as u64, pages);
            }
        }
    }

    #[test]
    fn pages_of_a_sparse_layout_are_not_all_at_one_distance() {
        let layout = Layout::new(512 * PAGE_BYTES, PAGE_BYTES, 2 << 20, 5);
        let within: BTreeSet<u64> =
            (0..512).map(|page| layout.page_offset(page) % (2 << 20) / PAGE_BYTES).collect();
        // 512 draws of 512: 324 different ones are to be expected.
        assert!(within.len() > 250, "{}", within.len());
    }
}
