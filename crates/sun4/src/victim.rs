//! Whose pmeg is taken when none is free.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::system::Victim;

/// A pmeg of the hardware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) group: Option<u32>,
    /// When it was filled, last faulted on and last used: numbers that only grow.
    pub(crate) loaded: u64,
    pub(crate) faulted: u64,
    pub(crate) visited: u64,
}

/// The policy with what it remembers.
#[derive(Clone, Debug)]
pub(crate) struct Chooser {
    policy: Victim,
    hand: usize,
}

impl Chooser {
    pub(crate) fn new(policy: Victim) -> Self {
        Self { policy, hand: 0 }
    }

    /// A pmeg to take; all of them are in use, and there is one at least. `is_idle` tells whether
    /// no address space of a group holds a context.
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
            // The hand stays on its victim, so that the next search begins behind it.
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

/// Where a hand stops that goes round `count` places: at the next idle one, or at the next if none
/// is idle.
pub(crate) fn next(hand: usize, count: usize, is_idle: impl Fn(usize) -> bool) -> usize {
    let mut places = (1..=count).map(|step| (hand + step) % count);
    places.find(|at| is_idle(*at)).unwrap_or((hand + 1) % count)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

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
