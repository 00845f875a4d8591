//! Groups of segments of a machine with three levels: who has one, and whose is taken.

use super::context::Grant;
use super::victim::next;

/// A region of 16 MiB of an address space.
type Region = (usize, u16);

#[derive(Clone, Debug)]
pub(crate) struct Smegs {
    slots: Vec<Option<Region>>,
    hand: usize,
}

impl Smegs {
    pub(crate) fn new(count: u32) -> Self {
        Self { slots: vec![None; count as usize], hand: 0 }
    }

    /// Gives a region an smeg. As with pmegs, a hand goes round and takes that of an address space
    /// without a context, or the next if there is none.
    pub(crate) fn grant(
        &mut self,
        region: Region,
        is_idle: impl Fn(usize) -> bool,
    ) -> Grant<Region> {
        if self.slots.contains(&Some(region)) {
            return Grant::Had;
        }
        let count = self.slots.len();
        let at = self.slots.iter().position(Option::is_none).unwrap_or_else(|| {
            let is_idle = |at: usize| self.slots[at].is_some_and(|(space, _)| is_idle(space));
            self.hand = next(self.hand, count, is_idle);
            self.hand
        });
        self.slots[at].replace(region).map_or(Grant::Free, Grant::From)
    }

    /// Frees those of an address space.
    pub(crate) fn release(&mut self, space: usize) {
        for slot in &mut self.slots {
            if slot.is_some_and(|(holder, _)| holder == space) {
                *slot = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_ones_are_taken_first() {
        let mut smegs = Smegs::new(2);
        assert_eq!(smegs.grant((1, 0), |_| false), Grant::Free);
        assert_eq!(smegs.grant((2, 0), |_| false), Grant::Free);
        assert_eq!(smegs.grant((1, 0), |_| false), Grant::Had);
        let taken = smegs.grant((3, 0), |space| space == 1);
        assert_eq!(taken, Grant::From((1, 0)));
        let taken = smegs.grant((4, 1), |_| false);
        assert_eq!(taken, Grant::From((2, 0)));
        smegs.release(3);
        assert_eq!(smegs.grant((5, 0), |_| false), Grant::Free);
    }
}
