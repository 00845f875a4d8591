//! Sampled miss-ratio curves: SHARDS (Waldspurger et al., FAST 2015). docs/mmu-curve.md has the
//! method and the bounds: random groups (Wolter, "Introduction to Variance Estimation", 2007,
//! chapter 2) for which keys are drawn, the binomial for which lie between, each at 0.975.

use super::log_linear::{bucket, lowest};
use super::lru_stack::LruStack;

/// Groups that the keys are cut into.
const GROUPS: usize = 8;
/// Student's t with seven degrees of freedom, two-sided 0.975.
const STUDENT: f64 = 2.841_244;
/// The normal distribution's quantile, two-sided 0.975.
const NORMAL: f64 = 2.241_403;
/// The smallest size with an estimate, in units of (1 - R) / R.
const LEAST_SAMPLED: f64 = 10.0;
/// Bits of a hash that are compared with the threshold.
const HASH_BITS: u32 = 32;
/// Steps in a doubling of the distances of a former rate, as a logarithm.
const STEPS_LOG2: u32 = 8;
/// Eighths of the sample's keys that stay when there are too many.
const STAYS_OF_EIGHT: usize = 7;

/// The size of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    /// A part of all keys, above 0 and at most 1.
    Rate(f64),
    /// A largest number of keys, at least 8, which bounds memory.
    Keys(usize),
}

/// References of each group, by distance.
type Counts = Vec<[u64; GROUPS]>;

/// Counts the stack distances of a sample of the keys.
#[derive(Clone, Debug, Default)]
pub struct SampledDistances {
    salt: u64,
    /// The sample has the hashes below this.
    threshold: u64,
    most_keys: usize,
    stack: LruStack,
    /// The last sampled key and its group.
    last: Option<(u64, usize)>,
    /// Distances at the current rate.
    counts: Counts,
    cold: [u64; GROUPS],
    /// Weights at former rates, by bucket of the scaled distance.
    settled: Vec<[f64; GROUPS]>,
    settled_cold: [f64; GROUPS],
    /// Number of references, sampled or not.
    pub references: u64,
    /// Number of references of sampled keys.
    pub sampled: u64,
}

/// Estimated misses at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Expected misses.
    pub misses: f64,
    /// Lower end of its interval, which has the probability [`SampledDistances::CONFIDENCE`].
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl SampledDistances {
    /// Probability that an interval holds the truth.
    pub const CONFIDENCE: f64 = 0.95;

    /// No references yet; the seed determines the keys. `None` for a rate or number out of range.
    pub fn new(sampling: Sampling, seed: u64) -> Option<Self> {
        let (threshold, most_keys) = match sampling {
            Sampling::Rate(rate) if rate > 0.0 && rate <= 1.0 => {
                (((rate * (1_u64 << HASH_BITS) as f64).round() as u64).max(1), usize::MAX)
            }
            Sampling::Keys(keys) if keys >= 8 => (1 << HASH_BITS, keys),
            _ => return None,
        };
        Some(Self { salt: mixed(seed), threshold, most_keys, ..Self::default() })
    }

    /// Refers to one key `count` times in a row, at least once.
    #[inline]
    pub fn run(&mut self, key: u64, count: u64) {
        self.references += count;
        let hash = hash(key, self.salt);
        // The higher half of a sampled hash is below the threshold.
        if hash >> HASH_BITS < self.threshold {
            self.take(key, hash, count);
        }
    }

    fn take(&mut self, key: u64, hash: u64, count: u64) {
        self.sampled += count;
        if let Some((last, group)) = self.last
            && last == key
        {
            self.counts[0][group] += count;
            return;
        }
        let group = mixed(hash) as usize % GROUPS;
        self.last = Some((key, group));
        match self.stack.reference(key) {
            Some(distance) => self.counts[distance as usize][group] += 1,
            None => {
                self.cold[group] += 1;
                self.counts.push([0; GROUPS]);
            }
        }
        self.counts[0][group] += count - 1;
        if self.stack.keys() > self.most_keys {
            self.sample_fewer();
        }
    }

    /// Lowers the threshold so that an eighth of the keys is forgotten.
    #[cold]
    fn sample_fewer(&mut self) {
        self.settle();
        let salt = self.salt;
        let mut hashes: Vec<u64> = Vec::with_capacity(self.stack.keys());
        self.stack.for_each(|key| hashes.push(hash(key, salt) >> HASH_BITS));
        let stay = self.most_keys * STAYS_OF_EIGHT / 8;
        let (_, threshold, _) = hashes.select_nth_unstable(stay);
        let threshold = *threshold;
        self.threshold = threshold;
        self.stack.retain(|key| hash(key, salt) >> HASH_BITS < threshold);
        self.last = None;
        self.counts = vec![[0; GROUPS]; self.stack.keys()];
    }

    /// Settles the counts at the current rate.
    fn settle(&mut self) {
        let weight = self.rate().recip();
        for (distance, counts) in self.counts.iter().enumerate() {
            let bucket = bucket((distance as f64 * weight).round() as u64, STEPS_LOG2);
            if bucket >= self.settled.len() {
                self.settled.resize(bucket + 1, [0.0; GROUPS]);
            }
            add(&mut self.settled[bucket], counts, weight);
        }
        add(&mut self.settled_cold, &self.cold, weight);
        self.cold = [0; GROUPS];
    }

    /// The part of all keys that is sampled now.
    pub fn rate(&self) -> f64 {
        self.threshold as f64 / (1_u64 << HASH_BITS) as f64
    }

    /// Number of sampled keys.
    pub fn keys(&self) -> usize {
        self.stack.keys()
    }

    /// First references, which miss at any size: one for each key of the trace.
    pub fn cold(&self) -> Estimate {
        let (misses, error) = self.sum(&self.cold_groups());
        self.estimate(misses, misses - error, misses + error)
    }

    /// Limited to the number of references.
    fn estimate(&self, misses: f64, low: f64, high: f64) -> Estimate {
        let most = self.references as f64;
        Estimate { misses: misses.min(most), low: low.clamp(0.0, most), high: high.min(most) }
    }

    /// The smallest size, in entries, that has an estimate.
    pub fn smallest(&self) -> u64 {
        let rate = self.rate();
        (LEAST_SAMPLED * (1.0 - rate) / rate).ceil() as u64
    }

    /// Misses of a fully associative LRU cache for each of some sizes in entries, including first
    /// references; `None` for sizes below [`SampledDistances::smallest`].
    pub fn misses(&self, sizes: &[u64]) -> Vec<Option<Estimate>> {
        let (behind, settled_behind) = self.behind();
        let rate = self.rate();
        let at = |mean: f64| {
            let live = between(&behind, mean);
            let before = between(&settled_behind, bucket_of(mean / rate));
            let cold = self.cold_groups();
            std::array::from_fn(|group| live[group] / rate + before[group] + cold[group])
        };
        let estimate = |size: &u64| {
            let mean = *size as f64 * rate;
            let spread = NORMAL * (mean * (1.0 - rate)).sqrt();
            let (misses, error) = self.sum(&at(mean));
            let (fewest, _) = self.sum(&at(mean + spread));
            let (largest, _) = self.sum(&at((mean - spread).max(0.0)));
            self.estimate(misses, fewest - error, largest + error)
        };
        let smallest = self.smallest();
        sizes.iter().map(|size| (*size >= smallest).then(|| estimate(size))).collect()
    }

    /// References at each distance or beyond, at the current rate and at former ones.
    fn behind(&self) -> (Vec<[f64; GROUPS]>, Vec<[f64; GROUPS]>) {
        let mut behind = vec![[0.0; GROUPS]; self.counts.len() + 1];
        for distance in (0..self.counts.len()).rev() {
            behind[distance] = behind[distance + 1];
            add(&mut behind[distance], &self.counts[distance], 1.0);
        }
        let mut settled = vec![[0.0; GROUPS]; self.settled.len() + 1];
        for bucket in (0..self.settled.len()).rev() {
            settled[bucket] = std::array::from_fn(|group| {
                settled[bucket + 1][group] + self.settled[bucket][group]
            });
        }
        (behind, settled)
    }

    fn cold_groups(&self) -> [f64; GROUPS] {
        let mut groups = self.settled_cold;
        add(&mut groups, &self.cold, self.rate().recip());
        groups
    }

    /// The sum of the groups, and its error.
    fn sum(&self, groups: &[f64; GROUPS]) -> (f64, f64) {
        let number = GROUPS as f64;
        let sum: f64 = groups.iter().sum();
        let squares: f64 = groups.iter().map(|group| (group - sum / number).powi(2)).sum();
        let variance = number * squares / (number - 1.0) * (1.0 - self.rate());
        (sum, STUDENT * variance.sqrt())
    }
}

fn add(to: &mut [f64; GROUPS], counts: &[u64; GROUPS], weight: f64) {
    for (to, count) in to.iter_mut().zip(counts) {
        *to += *count as f64 * weight;
    }
}

/// Interpolates between whole places; 0 beyond the end.
fn between(behind: &[[f64; GROUPS]], at: f64) -> [f64; GROUPS] {
    let (whole, part) = (at.floor(), at.fract());
    let value = |index: usize| behind.get(index).copied().unwrap_or([0.0; GROUPS]);
    let (from, to) = (value(whole as usize), value(whole as usize + 1));
    std::array::from_fn(|group| from[group] * (1.0 - part) + to[group] * part)
}

/// The bucket of a distance, with the part of it that is below.
fn bucket_of(distance: f64) -> f64 {
    let index = bucket(distance as u64, STEPS_LOG2);
    let (from, to) = (lowest(index, STEPS_LOG2), lowest(index + 1, STEPS_LOG2));
    index as f64 + (distance - from as f64) / (to - from) as f64
}

/// 64 bits of which the higher 32 choose the sample.
#[inline]
fn hash(key: u64, salt: u64) -> u64 {
    let product = (key ^ salt).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (product ^ product >> 32).wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// A seed's bits, mixed (the finaliser of splitmix64; Steele et al., 2014).
fn mixed(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}
