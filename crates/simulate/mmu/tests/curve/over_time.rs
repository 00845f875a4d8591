//! Working sets.

use mmu::curve::{Window, WorkingSet};
use proptest::prelude::*;

use crate::naive;

/// References in runs, of few keys in a few regions of 512.
fn runs() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let key = prop_oneof![0_u64..8, 500_u64..530, 0_u64..3000];
    proptest::collection::vec((key, 1_u64..6), 1..150)
}

proptest! {
    #[test]
    fn windows_and_means_are_those_of_sets(runs in runs(), window in 1_u64..60) {
        let mut working_set = WorkingSet::new(9, window);
        let mut keys = Vec::new();
        for (key, count) in &runs {
            working_set.run(*key, *count);
            keys.extend((0..*count).map(|_| *key));
        }
        let (windows, means) = working_set.finish();
        let chunks = keys.chunks(window as usize).enumerate();
        let expected: Vec<Window> = chunks
            .map(|(index, chunk)| {
                let first = index * window as usize;
                let both = first + chunk.len();
                let regions: Vec<u64> = chunk.iter().map(|key| key >> 9).collect();
                Window {
                    first: first as u64,
                    references: chunk.len() as u64,
                    units: naive::distinct(chunk),
                    new_units: naive::distinct(&keys[..both]) - naive::distinct(&keys[..first]),
                    regions: naive::distinct(&regions),
                }
            })
            .collect();
        prop_assert_eq!(windows, expected);
        for mean in means {
            let naive = naive::mean_working_set(&keys, mean.window as usize);
            prop_assert!((mean.units - naive).abs() < 1e-9 * naive, "{:?} {}", mean, naive);
        }
    }
}

/// a a b a: windows of two hold {a}, {a}, {a, b}, {a, b}; of three {a}, {a}, {a, b}, {a, b}.
#[test]
fn a_case_by_hand() {
    let mut working_set = WorkingSet::new(9, 100);
    [(1, 2), (2, 1), (1, 1)].iter().for_each(|(key, count)| working_set.run(*key, *count));
    let (windows, means) = working_set.finish();
    assert_eq!(windows, [Window { first: 0, references: 4, units: 2, new_units: 2, regions: 1 }]);
    let means: Vec<(u64, f64)> = means.iter().map(|mean| (mean.window, mean.units)).collect();
    assert_eq!(means, [(1, 1.0), (2, 1.5)]);
}
