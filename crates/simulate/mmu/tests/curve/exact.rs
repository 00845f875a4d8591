//! Exact distances and curves.

use mmu::curve::{LruStack, StackDistances};
use proptest::prelude::*;

use crate::naive;

/// References to few or many keys, near each other or anywhere.
fn keys() -> impl Strategy<Value = Vec<u64>> {
    let few = proptest::collection::vec(0_u64..20, 0..400);
    let many = proptest::collection::vec(0_u64..3000, 0..6000);
    let anywhere = proptest::collection::vec((0_u64..40).prop_map(spread), 0..400);
    let loops = (1_u64..1500, 1_usize..6)
        .prop_map(|(length, times)| (0..length).cycle().take(length as usize * times).collect());
    prop_oneof![few, many, anywhere, loops]
}

fn spread(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7)
}

proptest! {
    #[test]
    fn every_distance_is_that_of_a_list(keys in keys()) {
        let (mut stack, mut list) = (LruStack::default(), naive::Stack::default());
        for (index, key) in keys.iter().enumerate() {
            prop_assert_eq!(stack.reference(*key), list.reference(*key), "reference {}", index);
        }
    }

    #[test]
    fn distances_stay_right_after_keys_were_forgotten(keys in keys(), modulus in 2_u64..5) {
        let mut stack = LruStack::default();
        let half = keys.len() / 2;
        for key in &keys[..half] {
            stack.reference(*key);
        }
        stack.retain(|key| key % modulus == 0);
        let mut list = naive::Stack::default();
        for key in keys[..half].iter().filter(|key| *key % modulus == 0) {
            list.reference(*key);
        }
        for key in &keys[half..] {
            prop_assert_eq!(stack.reference(*key), list.reference(*key));
        }
    }

    #[test]
    fn misses_are_those_of_a_cache_of_each_size(keys in keys(), runs in 1_u64..4) {
        let keys = &keys[..keys.len().min(1500)];
        let mut distances = StackDistances::default();
        keys.iter().for_each(|key| distances.run(*key, runs));
        let sizes = [1, 2, 3, 7, 16, 64, 500];
        for (size, misses) in sizes.into_iter().zip(distances.misses(&sizes)) {
            prop_assert_eq!(misses, naive::lru_misses(keys, size as usize), "size {}", size);
        }
        prop_assert_eq!(distances.references, keys.len() as u64 * runs);
        prop_assert_eq!(distances.misses(&[1 << 40])[0], distances.cold());
    }
}

/// a b c b a a d c: worked out on paper.
#[test]
fn a_case_by_hand() {
    let mut distances = StackDistances::default();
    [1, 2, 3, 2, 1, 1, 4, 3].into_iter().for_each(|key| distances.run(key, 1));
    // b after c: 1; a after c, b: 2; a: 0; c after b, a, d: 3.
    assert_eq!(distances.cold(), 4);
    assert_eq!(distances.misses(&[0, 1, 2, 3, 4, 5]), [8, 7, 6, 5, 4, 4]);
}

/// Long enough to use up the line of time again and again, with keys next to keys.
#[test]
fn a_loop_misses_always_or_never() {
    let mut distances = StackDistances::default();
    let round: Vec<u64> = (0..5000).collect();
    for _ in 0..40 {
        round.iter().for_each(|key| distances.run(*key, 1));
    }
    assert_eq!(distances.misses(&[1, 4999, 5000, 6000]), [200_000, 200_000, 5000, 5000]);
}
