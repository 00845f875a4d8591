//! Random places by Zipf's law: a few are popular.

use rand::Rng;
use rand_pcg::Pcg64Mcg;

use super::{Permutation, below, generator};

/// Up to this rank, each rank has its own bucket.
const EXACT: u64 = 128;
/// Buckets per doubling of the rank above that.
const BUCKETS_PER_OCTAVE: f64 = 64.0;

/// Random places: the one of rank k has a probability proportional to k^−s (Zipf's law). Ranks are
/// assigned at random, the same for all processes of a seed.
///
/// Drawn by the alias method (A. J. Walker, 1977; tables as M. D. Vose, 1991) from buckets of
/// ranks, and uniformly within a bucket. Above rank 128 a bucket is 1.1 % of its rank wide with
/// the exact weight of its ranks, so the weight of one place is off by up to 0.6 % × s.
/// The table takes 14 to 45 KiB for any number of places.
#[derive(Clone, Debug)]
pub struct Zipf {
    buckets: Box<[Bucket]>,
    places: Permutation,
    random: Pcg64Mcg,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// The part of 2^32 that takes this bucket instead of `other`.
    threshold: u32,
    other: u32,
    first: u64,
    ranks: u64,
}

impl Zipf {
    /// The touches of one process; `skew` is the exponent s.
    pub fn new(places: u64, skew: f64, seed: u64, process: u64) -> Self {
        let places = places.max(1);
        let (bounds, weights) = buckets(places, skew);
        Self {
            buckets: aliases(&bounds, &weights),
            // A stream that no process uses for its touches.
            places: Permutation::new(places, &mut generator(!seed, 0)),
            random: generator(seed, process),
        }
    }
}

impl Iterator for Zipf {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let word = self.random.next_u64();
        let slot = below(word, self.buckets.len() as u64) as usize;
        // `below` has used the upper bits.
        let mut bucket = &self.buckets[slot];
        if word as u32 >= bucket.threshold {
            bucket = &self.buckets[bucket.other as usize];
        }
        let rank = match bucket.ranks {
            1 => bucket.first,
            ranks => bucket.first + below(self.random.next_u64(), ranks),
        };
        Some(self.places.at(rank))
    }
}

/// Bounds of the buckets over the ranks 0 to `places` (the law's k is rank + 1), and their weights.
fn buckets(places: u64, skew: f64) -> (Vec<u64>, Vec<f64>) {
    let mut bounds = vec![0];
    let mut last = 0;
    while last < places {
        let wider = if last < EXACT {
            last + 1
        } else {
            (last as f64 * (1.0 / BUCKETS_PER_OCTAVE).exp2()) as u64
        };
        last = wider.max(last + 1).min(places);
        bounds.push(last);
    }
    let weights = bounds.windows(2).map(|pair| weight(pair[0], pair[1], skew)).collect();
    (bounds, weights)
}

/// Sum of (rank + 1)^−s over a bucket; a wide one by the integral, which is exact to some 10^−5.
fn weight(from: u64, to: u64, skew: f64) -> f64 {
    if to - from == 1 {
        return (to as f64).powf(-skew);
    }
    let (low, high) = (from as f64 + 0.5, to as f64 + 0.5);
    let power = 1.0 - skew;
    // (high^power − low^power) / power without cancellation, and its limit where power is 0.
    let growth = power * (high / low).ln();
    let share = if growth == 0.0 { (high / low).ln() } else { growth.exp_m1() / power };
    low.powf(power) * share
}

fn aliases(bounds: &[u64], weights: &[f64]) -> Box<[Bucket]> {
    let total: f64 = weights.iter().sum();
    let mut shares: Vec<f64> =
        weights.iter().map(|weight| weight / total * weights.len() as f64).collect();
    let mut table: Vec<Bucket> = bounds
        .windows(2)
        .enumerate()
        .map(|(index, pair)| Bucket {
            threshold: u32::MAX,
            other: index as u32,
            first: pair[0],
            ranks: pair[1] - pair[0],
        })
        .collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..shares.len()).partition(|index| shares[*index] < 1.0);
    while let (Some(poor), Some(rich)) = (small.pop(), large.pop()) {
        table[poor].threshold = (shares[poor] * 4_294_967_296.0) as u32;
        table[poor].other = rich as u32;
        shares[rich] -= 1.0 - shares[poor];
        if shares[rich] < 1.0 { small.push(rich) } else { large.push(rich) }
    }
    table.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// How often each place was touched, the most popular first.
    fn popularity(places: u64, skew: f64, touches: usize) -> Vec<u32> {
        let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
        for place in Zipf::new(places, skew, 11, 0).take(touches) {
            assert!(place < places);
            *counts.entry(place).or_default() += 1;
        }
        let mut counts: Vec<u32> = counts.into_values().collect();
        counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        counts
    }

    #[test]
    fn frequencies_follow_the_law() {
        const TOUCHES: usize = 400_000;
        for (places, skew) in [(1, 0.99), (2, 1.0), (100, 0.5), (5000, 0.99), (5000, 1.0)] {
            let counts = popularity(places, skew, TOUCHES);
            let norm: f64 = (1..=places).map(|rank| (rank as f64).powf(-skew)).sum();
            for rank in [1_u64, 2, 3, 10].into_iter().filter(|rank| *rank <= places) {
                let expected = TOUCHES as f64 * (rank as f64).powf(-skew) / norm;
                let found = f64::from(counts[rank as usize - 1]);
                let deviation = (found - expected).abs() / expected.sqrt();
                // Sorting by popularity pushes equal ranks apart a little.
                assert!(deviation < 6.0, "{places} {skew} rank {rank}: {found} not {expected}");
            }
            // The tail together, where ranks are drawn by buckets.
            if places == 5000 {
                let head = (1..=500).map(|rank| (rank as f64).powf(-skew)).sum::<f64>() / norm;
                let found = counts[..500].iter().map(|n| f64::from(*n)).sum::<f64>();
                let share = found / TOUCHES as f64;
                assert!((share - head).abs() < 0.01, "{skew}: {share} not {head}");
            }
        }
    }

    #[test]
    fn without_skew_all_are_as_popular() {
        let counts = popularity(64, 0.0, 64_000);
        let chi: f64 = counts.iter().map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0).sum();
        assert!(counts.len() == 64 && chi < 104.0, "{chi}");
    }

    #[test]
    fn weights_of_buckets_are_those_of_their_ranks() {
        for skew in [0.0, 0.5, 0.99, 1.0, 2.0, 5.0] {
            let (bounds, weights) = buckets(100_000, skew);
            assert_eq!((bounds[0], bounds[bounds.len() - 1]), (0, 100_000));
            for (pair, weight) in bounds.windows(2).zip(weights) {
                let exact: f64 = (pair[0]..pair[1]).map(|k| (k as f64 + 1.0).powf(-skew)).sum();
                assert!((weight / exact - 1.0).abs() < 2e-4, "{skew} {pair:?}: {weight} {exact}");
            }
        }
    }

    #[test]
    fn the_table_stays_small_and_all_processes_like_the_same_places() {
        let most = Zipf::new(1 << 41, 0.99, 1, 0);
        assert!(most.buckets.len() * size_of::<Bucket>() < 64 << 10, "{}", most.buckets.len());
        let favourite = |process| {
            let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
            for place in Zipf::new(1 << 30, 1.2, 1, process).take(1000) {
                *counts.entry(place).or_default() += 1;
            }
            counts.into_iter().max_by_key(|(_, count)| *count).map(|(place, _)| place)
        };
        assert_eq!(favourite(0), favourite(1));
    }
}
