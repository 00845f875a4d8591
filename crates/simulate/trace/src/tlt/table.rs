//! The recent pages, which bytes of the pages column name, equal in encoder and decoder.
//!
//! An entry is a page's last reference: page from bit 17, offset in bits 5..17.

use postcard::to_io;

use crate::PAGE_SHIFT;

/// 64 for data, 64 for instructions.
pub(crate) const RECENT: usize = 128;

/// Flag in the pages column: a write.
pub(crate) const WRITTEN: u8 = 0x80;
/// Flag in the pages column: a fetch, in its own half of the table.
pub(crate) const FETCH: u8 = 0x40;
pub(crate) const PAGE_AT: u32 = 5 + PAGE_SHIFT;
pub(crate) const OFFSET: u64 = ((1 << PAGE_SHIFT) - 1) << 5;
pub(crate) const ADDRESS: u64 = !31;

pub(crate) const EMPTY: [u64; RECENT] = [0; RECENT];

/// Which pages are new in the table, as an encoder writes it.
#[derive(Clone, Debug)]
pub(crate) struct NewPages {
    /// Per page: distance in references, base entry, and distance of the page.
    pub(crate) bytes: Vec<u8>,
    last: usize,
    /// The newest page's entry of each kind.
    newest: [u8; 2],
}

impl Default for NewPages {
    fn default() -> Self {
        Self { bytes: Vec::new(), last: 0, newest: [0, FETCH] }
    }
}

impl NewPages {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        (self.last, self.newest) = (0, [0, FETCH]);
    }

    /// Puts the page of a reference in its entry, and records that.
    #[cold]
    #[inline(never)]
    pub(crate) fn add(&mut self, table: &mut [u64; RECENT], word: u64, entry: usize, at: usize) {
        let half = entry & usize::from(FETCH);
        let page = word >> PAGE_AT;
        let base = self.base(table, page, half);
        let from = table[usize::from(base)];
        // Both have 47 bits, so the sign does not matter.
        let distance = (page.wrapping_sub(from >> PAGE_AT) << PAGE_AT).cast_signed() >> PAGE_AT;
        let written = to_io(&((at - self.last) as u64, base, distance), &mut self.bytes);
        debug_assert!(written.is_ok(), "a vector takes everything");
        self.last = at;
        self.newest[usize::from(half != 0)] = entry as u8;
        table[entry] = page << PAGE_AT | from & OFFSET;
    }

    /// The base of a new page: the page before it if present, else the newest of its kind.
    fn base(&self, table: &[u64; RECENT], page: u64, half: usize) -> u8 {
        let before = page.wrapping_sub(1) << PAGE_AT;
        let entry = half | entry_of(before);
        let is_there = (table[entry] ^ before) >> PAGE_AT == 0;
        if is_there { entry as u8 } else { self.newest[usize::from(half != 0)] }
    }
}

/// Index of a reference's page in its half of the table. A decoder need not know this.
#[inline(always)]
pub(crate) fn entry_of(word: u64) -> usize {
    let page = word >> PAGE_AT;
    ((page ^ page >> 6 ^ page >> 12) & 63) as usize
}
