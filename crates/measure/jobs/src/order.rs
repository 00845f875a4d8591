//! One user's schedule: a permutation of the script for each pass, and think times.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Separates the seeds of users: 2^64 divided by the golden ratio.
const APART: u64 = 0x9e37_79b9_7f4a_7c15;

/// The random choices of one user, a function of seed and user number.
#[derive(Clone, Debug)]
pub struct Order {
    commands: usize,
    permutations: Pcg64Mcg,
    thoughts: Pcg64Mcg,
}

impl Order {
    /// The choices of a user whose script has `commands` commands.
    pub fn new(seed: u64, user: u32, commands: usize) -> Self {
        let own = seed ^ (u64::from(user) + 1).wrapping_mul(APART);
        Self {
            commands,
            permutations: Pcg64Mcg::seed_from_u64(own),
            // A separate stream: think times do not change the order.
            thoughts: Pcg64Mcg::seed_from_u64(own.rotate_left(32) ^ APART),
        }
    }

    /// The command numbers in the order of the next pass.
    pub fn next_pass(&mut self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.commands).collect();
        order.shuffle(&mut self.permutations);
        order
    }

    /// Think time before the next command in ns, uniform from 0.5 to 1.5 of the mean.
    pub fn next_think_ns(&mut self, mean_ns: u64) -> u64 {
        let half_ns = mean_ns / 2;
        half_ns + self.thoughts.random_range(0..=mean_ns.min(u64::MAX / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_pass_has_every_command_once(
            seed in any::<u64>(), user in 0..64_u32, commands in 1..100_usize,
        ) {
            let mut order = Order::new(seed, user, commands);
            for _ in 0..3 {
                let mut pass = order.next_pass();
                pass.sort_unstable();
                prop_assert_eq!(pass, (0..commands).collect::<Vec<_>>());
            }
        }

        #[test]
        fn thoughts_stay_within_their_limits(seed in any::<u64>(), mean_ns in 0..1_u64 << 62) {
            let mut order = Order::new(seed, 0, 1);
            for _ in 0..20 {
                let think_ns = order.next_think_ns(mean_ns);
                prop_assert!(think_ns >= mean_ns / 2 && think_ns <= mean_ns / 2 + mean_ns);
            }
        }
    }

    #[test]
    fn users_seeds_and_passes_differ_and_equal_seeds_do_not() {
        let passes = |seed, user| {
            let mut order = Order::new(seed, user, 16);
            [order.next_pass(), order.next_pass()]
        };
        assert_eq!(passes(1, 0), passes(1, 0));
        assert_ne!(passes(1, 0), passes(1, 1));
        assert_ne!(passes(1, 0), passes(2, 0));
        assert_ne!(passes(1, 0)[0], passes(1, 0)[1]);
    }

    #[test]
    fn every_permutation_comes_up() {
        let found: std::collections::BTreeSet<Vec<usize>> =
            (0..500).map(|seed| Order::new(seed, 0, 4).next_pass()).collect();
        assert_eq!(found.len(), 24);
    }
}
