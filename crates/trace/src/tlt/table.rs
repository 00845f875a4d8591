//! The pages that were used lately, as the encoder keeps them.

use super::encoder::FETCH;
use super::limits::RECENT;

/// The pages that were used lately.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) recent: Box<[u64; RECENT]>,
    /// The offset of the last reference to each of them.
    pub(crate) offsets: Box<[u32; RECENT]>,
    /// The place of the newest page of each kind.
    newest: [usize; 2],
    /// The runs whose page is new.
    pub(crate) new: Vec<NewPage>,
}

/// A page that was not in the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewPage {
    /// Its first run, from 1.
    pub(crate) run: usize,
    /// The place that it is told from.
    pub(crate) base: u8,
    /// How far it is from the page there.
    pub(crate) delta: i64,
}

impl Table {
    pub(crate) fn new() -> Self {
        let newest = [0, usize::from(FETCH)];
        let (recent, offsets) = (Box::new([0; RECENT]), Box::new([0; RECENT]));
        Self { recent, offsets, newest, new: Vec::new() }
    }

    /// Makes it as it is at the beginning of a block.
    pub(crate) fn clear(&mut self) {
        (*self.recent, *self.offsets) = ([0; RECENT], [0; RECENT]);
        self.newest = [0, usize::from(FETCH)];
        self.new.clear();
    }

    /// Puts a page in its place; this run is its first.
    #[cold]
    #[inline(never)]
    pub(crate) fn add(&mut self, page: u64, place: usize, run: usize) {
        let half = place & usize::from(FETCH);
        let base = self.base(page, half);
        let delta = page.wrapping_sub(self.recent[base]).cast_signed();
        self.new.push(NewPage { run, base: base as u8, delta });
        self.recent[place] = page;
        self.offsets[place] = self.offsets[base];
        self.newest[usize::from(half != 0)] = place;
    }

    /// The place that a new page is told from: that of the page before it if that is there, else
    /// of the newest.
    fn base(&self, page: u64, half: usize) -> usize {
        let before = page.wrapping_sub(1);
        let place = half | place_of(before);
        if self.recent[place] == before { place } else { self.newest[usize::from(half != 0)] }
    }
}

/// Where a page stands in its half of the table. A decoder need not know this.
#[inline]
pub(crate) fn place_of(page: u64) -> usize {
    ((page ^ page >> 6 ^ page >> 12) & 63) as usize
}
