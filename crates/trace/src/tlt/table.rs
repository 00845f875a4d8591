//! The pages that were used lately: what a byte of the pages column names, the same in encoder and
//! decoder.
//!
//! An entry is the last reference to its page, without access and size: the page from bit 17, the
//! offset in bits 5..17, 0 below.

use postcard::to_io;

use crate::PAGE_SHIFT;

/// Entries of the table: 64 of data, 64 of instructions.
pub(crate) const RECENT: usize = 128;

/// In a byte of the pages column: the reference writes.
pub(crate) const WRITTEN: u8 = 0x80;
/// In a byte of the pages column: the reference fetches, and so does its half of the table.
pub(crate) const FETCH: u8 = 0x40;
/// Bits of a reference below its page.
pub(crate) const PAGE_AT: u32 = 5 + PAGE_SHIFT;
/// Bits of an entry that are its offset.
pub(crate) const OFFSET: u64 = ((1 << PAGE_SHIFT) - 1) << 5;
/// Bits of a reference that are its address.
pub(crate) const ADDRESS: u64 = !31;

/// The entries at the beginning of a block.
pub(crate) const EMPTY: [u64; RECENT] = [0; RECENT];

/// Which pages came new into the table, as an encoder tells it.
#[derive(Clone, Debug)]
pub(crate) struct NewPages {
    /// For each of them how many references further it is, its base and how far it is from there.
    pub(crate) bytes: Vec<u8>,
    /// The reference of the last of them.
    last: usize,
    /// The entry of the newest page of each kind.
    newest: [u8; 2],
}

impl Default for NewPages {
    fn default() -> Self {
        Self { bytes: Vec::new(), last: 0, newest: [0, FETCH] }
    }
}

impl NewPages {
    /// Begins a block.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        (self.last, self.newest) = (0, [0, FETCH]);
    }

    /// Puts the page of a reference in its entry, and tells so.
    #[cold]
    #[inline(never)]
    pub(crate) fn add(&mut self, table: &mut [u64; RECENT], word: u64, entry: usize, at: usize) {
        let half = entry & usize::from(FETCH);
        let page = word >> PAGE_AT;
        let base = self.base(table, page, half);
        let from = table[usize::from(base)];
        // Both in 47 bits, so that the distance is the same with any sign.
        let distance = (page.wrapping_sub(from >> PAGE_AT) << PAGE_AT).cast_signed() >> PAGE_AT;
        let written = to_io(&((at - self.last) as u64, base, distance), &mut self.bytes);
        debug_assert!(written.is_ok(), "a vector takes everything");
        self.last = at;
        self.newest[usize::from(half != 0)] = entry as u8;
        table[entry] = page << PAGE_AT | from & OFFSET;
    }

    /// The entry that a new page is told from: that of the page before it if that is there, else
    /// that of the newest of its kind.
    fn base(&self, table: &[u64; RECENT], page: u64, half: usize) -> u8 {
        let before = page.wrapping_sub(1) << PAGE_AT;
        let entry = half | entry_of(before);
        let is_there = (table[entry] ^ before) >> PAGE_AT == 0;
        if is_there { entry as u8 } else { self.newest[usize::from(half != 0)] }
    }
}

/// Where the page of a reference stands in its half of the table. A decoder need not know this.
#[inline(always)]
pub(crate) fn entry_of(word: u64) -> usize {
    let page = word >> PAGE_AT;
    ((page ^ page >> 6 ^ page >> 12) & 63) as usize
}
