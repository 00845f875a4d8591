//! Groups of segments of a machine with three levels: who has one, and whose is taken.

use super::victim::next;

/// A region of 16 MiB of an address space.
type Region = (usize, u16);

/// All smegs.
#[derive(Clone, Debug)]
pub(crate) struct Smegs {
    slots: Vec<Option<Region>>,
    hand: usize,
}

/// An smeg that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The region that had it.
    pub(crate) taken_from: Option<Region>,
}

impl Smegs {
    pub(crate) fn new(count: u32) -> Self {
        Self { slots: vec![None; count as usize], hand: 0 }
    }

    /// Gives a region an smeg; nothing if it has one. As with pmegs, a hand goes round and takes
    /// that of an address space without a context, or the next if there is none.
    pub(crate) fn grant(
        &mut self,
        region: Region,
        is_idle: impl Fn(usize) -> bool,
    ) -> Option<Grant> {
        if self.slots.contains(&Some(region)) {
            return None;
        }
        let count = self.slots.len();
        let at = self.slots.iter().position(Option::is_none).unwrap_or_else(|| {
            let is_idle = |at: usize| self.slots[at].is_some_and(|(space, _)| is_idle(space));
            self.hand = next(self.hand, count, is_idle);
            self.hand
        });
        Some(Grant { taken_from: self.slots[at].replace(region) })
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
        assert_eq!(smegs.grant((1, 0), |_| false), Some(Grant { taken_from: None }));
        assert_eq!(smegs.grant((2, 0), |_| false), Some(Grant { taken_from: None }));
        assert_eq!(smegs.grant((1, 0), |_| false), None);
        let taken = smegs.grant((3, 0), |space| space == 1);
        assert_eq!(taken, Some(Grant { taken_from: Some((1, 0)) }));
        let taken = smegs.grant((4, 1), |_| false);
        assert_eq!(taken, Some(Grant { taken_from: Some((2, 0)) }));
        smegs.release(3);
        assert_eq!(smegs.grant((5, 0), |_| false), Some(Grant { taken_from: None }));
    }
}
