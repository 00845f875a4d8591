//! Sizes of pages, and numbers of pages in 64 bits with a size and an address space's tag.

use model::named;

pub(crate) const SIZES: usize = 3;
/// The part of a page's number that addresses of 57 bits need.
pub(crate) const PAGE_MASK: u64 = (1 << 45) - 1;
/// What no entry is.
pub(crate) const NOTHING: u64 = u64::MAX;
/// Tags from here on are those of translations that all address spaces share.
pub(crate) const FIRST_SHARED_TAG: u64 = 1 << 15;

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

/// A page with its size and the tag of its address space: what a TLB's entry is known by.
#[inline]
pub(crate) fn entry(page: u64, size: PageSize, tag: u64) -> u64 {
    (page & PAGE_MASK) >> size.shift() | (size as u64) << SIZE_SHIFT | tag << TAG_SHIFT
}

pub(crate) fn tag(entry: u64) -> u64 {
    entry >> TAG_SHIFT
}

/// The small pages of an entry: the first, and the first behind it.
pub(crate) fn pages(entry: u64) -> (u64, u64) {
    let shift = 9 * (entry >> SIZE_SHIFT & 3);
    let number = entry & PAGE_MASK;
    (number << shift, (number + 1) << shift)
}
