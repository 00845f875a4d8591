//! Page faults by call stack, from samples that stand for different numbers of them.
//!
//! The kernel takes a sample after so many faults, and adapts that number until samples come at the
//! requested rate. It begins with one and overshoots, so that a single early sample may stand for more
//! faults than all that follow. What such a sample is of says little about so many faults: each sample
//! counts at most a few times the median, and all of them together stand for the exact number.

use std::collections::BTreeMap;

use crate::threads::Thread;

/// A sample counts at most this many times the median.
const MOST_TIMES: u64 = 4;

/// Samples of page faults, by call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FaultSamples {
    /// Faults and samples of each call stack.
    pub(crate) by_stack: BTreeMap<u32, (u64, u64)>,
    /// As many samples of equal weight would be as certain (Kish, "Survey Sampling", 1965).
    pub(crate) effective: u64,
}

impl FaultSamples {
    /// Sums the faults and samples of all threads, by call stack.
    pub(crate) fn of(threads: &[Thread]) -> Self {
        let all = || threads.iter().flat_map(|thread| &thread.faults);
        let mut weights: Vec<u64> = all().map(|(_, weight)| *weight).collect();
        weights.sort_unstable();
        let Some(median) = weights.get(weights.len() / 2) else { return Self::default() };
        let most = median.saturating_mul(MOST_TIMES);
        let (mut found, mut sum, mut squares) = (Self::default(), 0.0, 0.0);
        for (stack, weight) in all() {
            let weight = (*weight).min(most);
            let (faults, seen) = found.by_stack.entry(*stack).or_default();
            (*faults, *seen) = (faults.saturating_add(weight), *seen + 1);
            sum += weight as f64;
            squares += (weight as f64).powi(2);
        }
        found.effective = (sum * sum / squares) as u64;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_early_sample_does_not_outweigh_all_others() {
        let mut thread = Thread::unknown("it".into());
        assert_eq!(FaultSamples::of(&[]), FaultSamples::default());
        thread.faults = vec![(1, 1), (1, 90_000)];
        thread.faults.extend([(2, 100); 98]);
        let found = FaultSamples::of(&[thread]);
        assert_eq!(found.by_stack[&1], (401, 2));
        assert_eq!(found.by_stack[&2], (9800, 98));
        assert!((90..=100).contains(&found.effective), "{}", found.effective);
    }
}
