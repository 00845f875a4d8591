//! Sizes of pages, and TLB entries: 64 bits with page number, size and tag.

use model::named;

pub(crate) const SIZES: usize = 3;
/// Page numbers of addresses of 57 bits.
pub(crate) const PAGE_MASK: u64 = (1 << 45) - 1;
/// What no entry is.
pub(crate) const NOTHING: u64 = u64::MAX;
/// The first tag of translations that all address spaces share.
pub(crate) const FIRST_SHARED_TAG: u64 = 1 << 15;
/// The tag of a guest's global translations.
pub(crate) const GLOBAL_TAG: u64 = (1 << 17) - 3;

const SIZE_SHIFT: u32 = 45;
const TAG_SHIFT: u32 = 47;

named! {
    /// The size of a page.
    #[derive(PartialOrd, Ord)]
    pub enum PageSize {
        /// 4 KiB.
        Small = "4K",
        /// 2 MiB.
        Huge = "2M",
        /// 1 GiB.
        Giant = "1G",
    }
}

impl PageSize {
    /// All, smallest first.
    pub(crate) const EACH: [Self; SIZES] = [Self::Small, Self::Huge, Self::Giant];

    /// The logarithm of its number of small pages.
    pub(crate) fn shift(self) -> u32 {
        9 * self as u32
    }

    /// The level of the page table whose entry maps it, from 1.
    pub(crate) fn leaf(self) -> u32 {
        self as u32 + 1
    }
}

/// The key of a TLB's entry: a page with its size and tag.
#[inline]
pub(crate) fn entry(page: u64, size: PageSize, tag: u64) -> u64 {
    (page & PAGE_MASK) >> size.shift() | (size as u64) << SIZE_SHIFT | tag << TAG_SHIFT
}

pub(crate) fn tag(entry: u64) -> u64 {
    entry >> TAG_SHIFT
}

/// The small pages of an entry: first and end.
pub(crate) fn pages(entry: u64) -> (u64, u64) {
    let shift = 9 * (entry >> SIZE_SHIFT & 3);
    let number = entry & PAGE_MASK;
    (number << shift, (number + 1) << shift)
}
