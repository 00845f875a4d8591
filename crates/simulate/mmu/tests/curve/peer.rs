//! Misses that another program counted.
//!
//! libCacheSim (commit aa0fc40) simulated LRU caches on the stream of [`keys`], written as
//! oracleGeneral (24 bytes a request: u32 time, the index; u64 key; u32 size, 1; i64 next, -1):
//! `cachesim FILE oracleGeneral lru 1,2,4,… --ignore-obj-size 1 --num-thread 1`.
//! It prints miss ratios with four digits; with 5000 references these are whole numbers of misses.

use mmu::curve::{SampledDistances, Sampling, SetStacks, StackDistances};

/// Entries and the miss ratio printed.
const PRINTED: [(u64, f64); 12] = [
    (1, 0.9952),
    (2, 0.9914),
    (4, 0.9844),
    (16, 0.9444),
    (64, 0.7984),
    (128, 0.6588),
    (256, 0.4366),
    (300, 0.3886),
    (512, 0.22),
    (640, 0.172),
    (768, 0.1554),
    (1000, 0.1554),
];

/// Hot keys, keys anywhere, a loop, and keys of which low ones are likelier, by turns.
fn keys() -> Vec<u64> {
    let mut state = 1_u64;
    let mut draw = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut key = |index: u64| {
        let (a, b) = (draw(), draw());
        1 + match b % 4 {
            0 => a % 30,
            1 => a % 900,
            2 => index % 300,
            _ => ((a * a) >> 40) % 400,
        }
    };
    (0..5000).map(&mut key).collect()
}

#[test]
fn misses_are_those_of_libcachesim() {
    let keys = keys();
    let mut distances = StackDistances::default();
    keys.iter().for_each(|key| distances.run(*key, 1));
    let mut one_set = SetStacks::new(1, 1000).unwrap();
    keys.iter().for_each(|key| one_set.run(*key, 1));
    let mut all = SampledDistances::new(Sampling::Keys(1000), 0).unwrap();
    keys.iter().for_each(|key| all.run(*key, 1));
    for (entries, ratio) in PRINTED {
        let misses = (ratio * keys.len() as f64).round() as u64;
        assert_eq!(distances.misses(&[entries])[0], misses, "{entries} entries");
        assert_eq!(one_set.misses()[entries as usize - 1], misses, "{entries} entries");
        assert_eq!(all.misses(&[entries])[0].unwrap().misses, misses as f64, "{entries} entries");
    }
}
