//! Contexts, smegs and pmegs: their holders, and whose is taken when none is free.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::system::{ContextPolicy, Victim};

#[derive(Clone, Debug)]
pub(crate) struct Contexts {
    policy: ContextPolicy,
    /// The address space that holds each, and when it last ran.
    slots: Vec<Option<(usize, u64)>>,
    rover: usize,
    now: u64,
}

/// The result of a request for something that the hardware has few of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grant<T> {
    Had,
    Free,
    /// It was taken from another holder.
    From(T),
}

impl Contexts {
    pub(crate) fn new(policy: ContextPolicy, count: u32) -> Self {
        Self { policy, slots: vec![None; count as usize], rover: 0, now: 0 }
    }

    /// Gives an address space that comes to run a context.
    pub(crate) fn grant(&mut self, space: usize) -> Grant<usize> {
        self.now += 1;
        let held = self.slots.iter_mut().flatten().find(|(holder, _)| *holder == space);
        if let Some((_, used)) = held {
            *used = self.now;
            return Grant::Had;
        }
        let free = self.slots.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| self.victim());
        let taken = self.slots[index].replace((space, self.now));
        taken.map_or(Grant::Free, |(loser, _)| Grant::From(loser))
    }

    fn victim(&mut self) -> usize {
        match self.policy {
            ContextPolicy::Lru => {
                let used = |index: &usize| self.slots[*index].map_or(0, |(_, used)| used);
                (0..self.slots.len()).min_by_key(used).unwrap_or(0)
            }
            ContextPolicy::Rover => {
                let victim = self.rover;
                self.rover = (self.rover + 1) % self.slots.len();
                victim
            }
        }
    }

    /// Frees the context of an address space; returns whether it had one.
    pub(crate) fn release(&mut self, space: usize) -> bool {
        let holds = |slot: &&mut Option<_>| slot.is_some_and(|(holder, _)| holder == space);
        self.slots.iter_mut().find(holds).is_some_and(|slot| slot.take().is_some())
    }
}

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

    /// Gives a region an smeg: a free one, else by a hand as with pmegs.
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

    pub(crate) fn release(&mut self, space: usize) {
        for slot in &mut self.slots {
            if slot.is_some_and(|(holder, _)| holder == space) {
                *slot = None;
            }
        }
    }
}

/// A pmeg of the hardware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) group: Option<u32>,
    /// When it was filled, last faulted on and last used.
    pub(crate) loaded: u64,
    pub(crate) faulted: u64,
    pub(crate) visited: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Chooser {
    policy: Victim,
    hand: usize,
}

impl Chooser {
    pub(crate) fn new(policy: Victim) -> Self {
        Self { policy, hand: 0 }
    }

    /// The pmeg to take when all are in use; of an idle group no address space has a context.
    pub(crate) fn choose(
        &mut self,
        frames: &[Frame],
        is_idle: impl Fn(u32) -> bool,
        rng: &mut Pcg64Mcg,
    ) -> usize {
        let oldest = |age: fn(&Frame) -> u64| {
            frames.iter().enumerate().min_by_key(|(_, frame)| age(frame)).map_or(0, |(at, _)| at)
        };
        match self.policy {
            // The hand stays on its victim, so that the next search begins after it.
            Victim::TwoPass => {
                let is_idle = |at: usize| frames[at].group.is_some_and(&is_idle);
                self.hand = next(self.hand, frames.len(), is_idle);
                self.hand
            }
            Victim::Fifo => oldest(|frame| frame.loaded),
            Victim::LruFault => oldest(|frame| frame.faulted),
            Victim::LruVisit => oldest(|frame| frame.visited),
            Victim::Random => rng.random_range(0..frames.len()),
        }
    }
}

/// The next idle place of `count` after a hand, or the next one if none is idle.
pub(crate) fn next(hand: usize, count: usize, is_idle: impl Fn(usize) -> bool) -> usize {
    let mut places = (1..=count).map(|step| (hand + step) % count);
    places.find(|at| is_idle(*at)).unwrap_or((hand + 1) % count)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn the_context_that_was_used_longest_ago_is_taken() {
        let mut contexts = Contexts::new(ContextPolicy::Lru, 2);
        let grants = [1, 2, 1, 3, 2].map(|space| contexts.grant(space));
        assert_eq!(grants, [Grant::Free, Grant::Free, Grant::Had, Grant::From(2), Grant::From(1)]);
        assert!(contexts.release(3) && !contexts.release(3));
        assert_eq!(contexts.grant(4), Grant::Free);
    }

    #[test]
    fn the_rover_takes_one_after_the_other() {
        let mut contexts = Contexts::new(ContextPolicy::Rover, 2);
        let grants = [1, 2, 2, 3, 4].map(|space| contexts.grant(space));
        assert_eq!(grants, [Grant::Free, Grant::Free, Grant::Had, Grant::From(1), Grant::From(2)]);
    }

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

    /// Four pmegs of groups 0..4, filled in this order; faulted and used in others.
    fn frames() -> Vec<Frame> {
        let orders = [(1, 4, 3), (2, 1, 4), (3, 3, 1), (4, 2, 2)];
        let frame = |(group, (loaded, faulted, visited)): (usize, (u64, u64, u64))| Frame {
            group: Some(group as u32),
            loaded,
            faulted,
            visited,
        };
        orders.into_iter().enumerate().map(frame).collect()
    }

    fn first(policy: Victim) -> usize {
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        Chooser::new(policy).choose(&frames(), |_| false, &mut rng)
    }

    #[test]
    fn each_order_has_its_victim() {
        assert_eq!(first(Victim::Fifo), 0);
        assert_eq!(first(Victim::LruFault), 1);
        assert_eq!(first(Victim::LruVisit), 2);
    }

    #[test]
    fn the_hand_takes_idle_ones_round_and_round_and_others_only_without() {
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let mut chooser = Chooser::new(Victim::TwoPass);
        let mut choose =
            |idle: &[u32]| chooser.choose(&frames(), |group| idle.contains(&group), &mut rng);
        assert_eq!([choose(&[0, 2]), choose(&[0, 2]), choose(&[0, 2])], [2, 0, 2]);
        assert_eq!([choose(&[]), choose(&[]), choose(&[1])], [3, 0, 1]);
    }

    #[test]
    fn any_may_be_the_random_victim() {
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let mut chooser = Chooser::new(Victim::Random);
        let mut seen = [0; 4];
        for _ in 0..400 {
            seen[chooser.choose(&frames(), |_| false, &mut rng)] += 1;
        }
        assert!(seen.iter().all(|times| (60..140).contains(times)), "{seen:?}");
    }
}
