//! Set-associative curves.

use mmu::curve::{SetStacks, StackDistances};
use proptest::prelude::*;

use crate::naive;

proptest! {
    #[test]
    fn each_set_is_a_cache_of_its_own(
        keys in proptest::collection::vec(0_u64..200, 1..1200),
        sets_log2 in 0_u32..5,
        ways in 1_usize..12,
    ) {
        let sets = 1_u64 << sets_log2;
        let mut stacks = SetStacks::new(sets, ways).unwrap();
        keys.iter().for_each(|key| stacks.run(*key, 1));
        let of_set = |set: u64| -> Vec<u64> {
            keys.iter().copied().filter(|key| key % sets == set).collect()
        };
        for (index, misses) in stacks.misses().into_iter().enumerate() {
            let naive: u64 = (0..sets).map(|set| naive::lru_misses(&of_set(set), index + 1)).sum();
            prop_assert_eq!(misses, naive, "{} sets, {} ways", sets, index + 1);
        }
    }

    #[test]
    fn one_set_is_fully_associative(keys in proptest::collection::vec(0_u64..40, 1..600)) {
        let mut stacks = SetStacks::new(1, 32).unwrap();
        let mut distances = StackDistances::default();
        for key in &keys {
            stacks.run(*key, 3);
            distances.run(*key, 3);
        }
        let sizes: Vec<u64> = (1..=32).collect();
        prop_assert_eq!(stacks.misses(), distances.misses(&sizes));
    }
}

#[test]
fn sets_are_a_power_of_two() {
    assert!(SetStacks::new(12, 4).is_none());
    assert!(SetStacks::new(0, 4).is_none());
    assert!(SetStacks::new(16, 0).is_none());
}
