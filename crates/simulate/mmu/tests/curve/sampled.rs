//! Samples against exact curves of known distributions.

use mmu::curve::{Estimate, SampledDistances, Sampling, StackDistances};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// How many samples are drawn of each stream.
const SEEDS: u64 = 40;
/// Part of the intervals that must hold the truth; each is for 0.95.
const COVERAGE: f64 = 0.95;

/// Keys drawn by Zipf's law with exponent 1: the k-th is drawn with a probability of about 1 / k.
fn zipf(keys: usize, length: usize, seed: u64) -> Vec<u64> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let draw = |_| ((keys as f64).powf(random.random::<f64>()) as u64).min(keys as u64 - 1);
    (0..length).map(draw).collect()
}

/// A loop over some keys.
fn round(keys: u64, length: usize) -> Vec<u64> {
    (0..keys).cycle().take(length).collect()
}

/// Two loops of different lengths, hot keys, and a scan of keys that never come back.
fn mix(length: usize, seed: u64) -> Vec<u64> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut small, mut large, mut scan) = (0, 0, 0);
    let mut draw = |_| match random.random_range(0..100) {
        0..40 => zipf(1000, 1, random.random())[0],
        40..70 => {
            small = (small + 1) % 6_000;
            10_000 + small
        }
        70..95 => {
            large = (large + 1) % 40_000;
            100_000 + large
        }
        _ => {
            scan += 1;
            1_000_000 + scan
        }
    };
    (0..length).map(&mut draw).collect()
}

/// Powers of two and what is between them, up to more than there are keys.
fn sizes() -> Vec<u64> {
    (0..17).flat_map(|log2| [4 << log2, 5 << log2, 6 << log2, 7 << log2]).collect()
}

/// Part of the intervals that hold the truth, the mean absolute error of the miss ratio, and the
/// mean width of the intervals.
fn tried(keys: &[u64], sampling: Sampling) -> (f64, f64, f64) {
    let sizes = sizes();
    let mut exact = StackDistances::default();
    keys.iter().for_each(|key| exact.run(*key, 1));
    let exact = exact.misses(&sizes);
    let (mut held, mut error, mut width, mut count) = (0, 0.0, 0.0, 0);
    for seed in 0..SEEDS {
        let mut sample = SampledDistances::new(sampling, seed).unwrap();
        keys.iter().for_each(|key| sample.run(*key, 1));
        for (truth, estimate) in exact.iter().zip(sample.misses(&sizes)) {
            let Some(Estimate { misses, low, high }) = estimate else { continue };
            let truth = *truth as f64;
            held += u32::from((low..=high).contains(&truth));
            error += (misses - truth).abs() / keys.len() as f64;
            width += (high - low) / keys.len() as f64;
            count += 1;
        }
    }
    let count = f64::from(count);
    (f64::from(held) / count, error / count, width / count)
}

#[test]
fn the_bounds_hold_as_often_as_they_say() {
    let length = 200_000;
    let streams = [
        ("zipf", zipf(100_000, length, 1)),
        ("loop", round(30_000, length)),
        ("mix", mix(length, 2)),
    ];
    for (name, keys) in &streams {
        for sampling in [Sampling::Rate(0.01), Sampling::Rate(0.1), Sampling::Keys(1024)] {
            let (held, error, width) = tried(keys, sampling);
            println!("{name} {sampling:?}: {held:.4} held, error {error:.4}, width {width:.4}");
            assert!(held >= COVERAGE, "{name} {sampling:?}: {held}");
        }
    }
}

#[test]
fn a_sample_of_all_is_exact() {
    let keys = zipf(500, 20_000, 3);
    let mut exact = StackDistances::default();
    keys.iter().for_each(|key| exact.run(*key, 1));
    for sampling in [Sampling::Rate(1.0), Sampling::Keys(500)] {
        let mut sample = SampledDistances::new(sampling, 7).unwrap();
        keys.iter().for_each(|key| sample.run(*key, 1));
        let sizes = [1, 2, 10, 100, 400, 1000];
        for (estimate, truth) in sample.misses(&sizes).into_iter().zip(exact.misses(&sizes)) {
            let truth = truth as f64;
            assert_eq!(estimate, Some(Estimate { misses: truth, low: truth, high: truth }));
        }
        assert_eq!((sample.sampled, sample.keys()), (20_000, exact.cold() as usize));
    }
}

#[test]
fn a_sample_of_fixed_size_has_never_more_keys() {
    let mut sample = SampledDistances::new(Sampling::Keys(100), 0).unwrap();
    for key in zipf(50_000, 100_000, 4) {
        sample.run(key, 1);
        assert!(sample.keys() <= 100);
    }
    assert!(sample.rate() < 0.01 && sample.keys() >= 80, "{} {}", sample.rate(), sample.keys());
}

#[test]
fn what_cannot_be_a_sample_is_none() {
    for bad in [0.0, -1.0, 1.1, f64::NAN] {
        assert!(SampledDistances::new(Sampling::Rate(bad), 0).is_none());
    }
    assert!(SampledDistances::new(Sampling::Keys(7), 0).is_none());
}
