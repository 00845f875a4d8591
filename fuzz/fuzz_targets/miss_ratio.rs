//! Stack distances of any references are those of a list, at any length and whatever is forgotten
//! on the way; and a sample of everything is exact.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmu::curve::{LruStack, SampledDistances, Sampling, SetStacks, StackDistances};

fuzz_target!(|words: Vec<u16>| {
    let mut stack = LruStack::default();
    let mut list: Vec<u64> = Vec::new();
    let mut distances = StackDistances::default();
    let mut sample = SampledDistances::new(Sampling::Rate(1.0), 0).expect("all is a part of all");
    let mut sets = SetStacks::new(1, 8).expect("one is a power of two");
    let mut forgotten = false;
    for word in words {
        let key = u64::from(word);
        if word == u16::MAX {
            stack.retain(|key| key % 3 != 0);
            list.retain(|key| key % 3 != 0);
            forgotten = true;
            continue;
        }
        let place = list.iter().rposition(|other| *other == key);
        let distance = place.map(|place| {
            list.remove(place);
            (list.len() - place) as u32
        });
        list.push(key);
        assert_eq!(stack.reference(key), distance);
        assert_eq!(stack.keys(), list.len());
        distances.run(key, 1 + key % 2);
        sample.run(key, 1 + key % 2);
        sets.run(key, 1 + key % 2);
    }
    if !forgotten {
        assert_eq!(distances.cold(), list.len() as u64);
    }
    let sizes: Vec<u64> = (1..=8).collect();
    let misses = distances.misses(&sizes);
    assert_eq!(sets.misses(), misses);
    for (estimate, misses) in sample.misses(&sizes).into_iter().zip(misses) {
        assert_eq!(estimate.map(|estimate| estimate.misses), Some(misses as f64));
    }
});
