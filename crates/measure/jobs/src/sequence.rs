//! Orders of touches: one after the other, uniform at random, and a chain of pointers.

use std::iter::repeat_with;

use rand::Rng;

use super::{Permutation, below, generator};

/// Places in order, each once a round; with a stride, first every stride-th place from the first
/// on, then from the second on, and so forth. Each process begins at its part of them.
pub fn in_order(
    places: u64,
    stride: u64,
    process: u64,
    processes: u64,
) -> impl Iterator<Item = u64> {
    let (places, stride) = (places.max(1), stride.clamp(1, places.max(1)));
    let mut next = part(places, process, processes);
    let mut lane = next % stride;
    repeat_with(move || {
        let place = next;
        next += stride;
        if next >= places {
            lane = if lane + 1 < stride { lane + 1 } else { 0 };
            next = lane;
        }
        place
    })
}

/// The touches of one process at random, each place as likely as any other.
pub fn uniform(places: u64, seed: u64, process: u64) -> impl Iterator<Item = u64> {
    let mut random = generator(seed, process);
    repeat_with(move || below(random.next_u64(), places.max(1)))
}

/// The touches of one process: all places in random order, each once a round.
pub fn shuffled(places: u64, seed: u64, process: u64) -> impl Iterator<Item = u64> {
    let places = places.max(1);
    let order = Permutation::new(places, &mut generator(seed, process));
    (0..places).cycle().map(move |position| order.at(position))
}

/// A cyclic chain over all places in random order.
#[derive(Clone, Debug)]
pub struct Chain {
    places: u64,
    order: Permutation,
}

impl Chain {
    /// A chain over all places; a process with private memory has its own.
    pub fn new(places: u64, seed: u64, process: u64) -> Self {
        let places = places.max(1);
        Self { places, order: Permutation::new(places, &mut generator(seed, process)) }
    }

    /// The next place.
    pub fn after(&self, place: u64) -> u64 {
        let position = self.order.position(place) + 1;
        self.order.at(if position == self.places { 0 } else { position })
    }

    /// The first place of process `process` of `processes` that share a chain.
    pub fn first(&self, process: u64, processes: u64) -> u64 {
        self.order.at(part(self.places, process, processes))
    }
}

/// The beginning of the `process`-th of `processes` equal parts.
fn part(places: u64, process: u64, processes: u64) -> u64 {
    let part = u128::from(places) * u128::from(process) / u128::from(processes.max(1));
    (part as u64).min(places - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn in_order_each_place_comes_once_a_round(
            places in 1..2000_u64, stride in 1..3000_u64, process in 0..5_u64,
        ) {
            let mut order = in_order(places, stride, process, 5);
            for _ in 0..3 {
                let round: BTreeSet<u64> = order.by_ref().take(places as usize).collect();
                prop_assert_eq!(round, (0..places).collect::<BTreeSet<_>>());
            }
        }

        #[test]
        fn shuffled_each_place_comes_once_a_round(places in 1..2000_u64, seed in any::<u64>()) {
            let mut order = shuffled(places, seed, 1);
            for _ in 0..2 {
                let round: BTreeSet<u64> = order.by_ref().take(places as usize).collect();
                prop_assert_eq!(round, (0..places).collect::<BTreeSet<_>>());
            }
        }

        #[test]
        fn a_chain_comes_back_after_all_places_and_not_before(
            places in 1..2000_u64, seed in any::<u64>(), process in 0..5_u64,
        ) {
            let chain = Chain::new(places, seed, process);
            let first = chain.first(process, 5);
            let round: Vec<u64> =
                std::iter::successors(Some(first), |place| Some(chain.after(*place)))
                    .take(places as usize + 1)
                    .collect();
            let met: BTreeSet<u64> = round[..places as usize].iter().copied().collect();
            prop_assert_eq!(met.len() as u64, places);
            prop_assert_eq!(round[places as usize], first);
        }

        #[test]
        fn random_places_are_those_of_the_seed(places in 1..u64::MAX, seed in any::<u64>()) {
            let ten = |process| uniform(places, seed, process).take(10).collect::<Vec<_>>();
            prop_assert!(ten(0).iter().all(|place| *place < places));
            prop_assert_eq!(ten(0), ten(0));
            prop_assert!(places < 1000 || ten(0) != ten(1));
        }
    }

    #[test]
    fn a_stride_is_the_distance_of_two_touches() {
        let six: Vec<u64> = in_order(10, 4, 0, 1).take(12).collect();
        assert_eq!(six, [0, 4, 8, 1, 5, 9, 2, 6, 3, 7, 0, 4]);
    }

    #[test]
    fn uniform_touches_are_uniform() {
        let mut counts = [0_u32; 64];
        for place in uniform(64, 3, 0).take(64_000) {
            counts[place as usize] += 1;
        }
        // Chi squared with 63 degrees of freedom is above 104 once in a thousand times.
        let chi: f64 = counts.iter().map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi < 104.0, "{chi}");
    }
}
