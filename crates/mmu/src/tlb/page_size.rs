//! Sizes of pages, and numbers of pages in 64 bits with a size and an address space's tag.

use serde::{Deserialize, Serialize};

/// How many sizes there are.
pub(crate) const SIZES: usize = 3;
/// The part of a page's number that addresses of 57 bits need.
pub(crate) const PAGE_MASK: u64 = (1 << 45) - 1;
/// What no entry is.
pub(crate) const NOTHING: u64 = u64::MAX;
/// Tags from here on are those of translations that all address spaces share.
pub(crate) const FIRST_SHARED_TAG: u64 = 1 << 15;

const SIZE_SHIFT: u32 = 45;
const TAG_SHIFT: u32 = 47;

/// The size of a page.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize, Serialize,
)]
pub enum PageSize {
    /// 4 KiB.
    #[default]
    #[serde(rename = "4K")]
    Small,
    /// 2 MiB.
    #[serde(rename = "2M")]
    Huge,
    /// 1 GiB.
    #[serde(rename = "1G")]
    Giant,
}

impl PageSize {
    /// All, smallest first.
    pub const ALL: [Self; SIZES] = [Self::Small, Self::Huge, Self::Giant];

    /// As descriptions write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "4K",
            Self::Huge => "2M",
            Self::Giant => "1G",
        }
    }

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

/// The tag in an entry.
pub(crate) fn tag(entry: u64) -> u64 {
    entry >> TAG_SHIFT
}

/// The small pages of an entry: the first, and the first behind it.
pub(crate) fn pages(entry: u64) -> (u64, u64) {
    let shift = 9 * (entry >> SIZE_SHIFT & 3);
    let number = entry & PAGE_MASK;
    (number << shift, (number + 1) << shift)
}
