//! When interactions are meant to start: a pure function of the spec, known before the first one.

use std::collections::BTreeMap;

use model::{Spec, Timing};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use workloads::Rhythm;

/// The intended starts of a run.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    interval_ns: u64,
    count: u32,
    /// The start lies at a random phase of its interval if there is a generator.
    phase: Option<Pcg64Mcg>,
    next: u32,
}

impl Schedule {
    /// That of a probe with these parameters; `None` if the one that it needs is not among them.
    pub(crate) fn new(spec: &Spec, rhythm: Rhythm, params: &BTreeMap<String, u64>) -> Option<Self> {
        Some(match rhythm {
            Rhythm::Interval => Self::by_interval(&spec.timing),
            Rhythm::Periodic => Self::by_period(&spec.timing, *params.get("period_ns")?, spec.seed),
        })
    }

    /// One start at the end of each interval, so that each is preceded by an idle interval.
    pub(crate) fn by_interval(timing: &Timing) -> Self {
        Self { interval_ns: timing.interval_ns, count: timing.points, phase: None, next: 0 }
    }

    /// One start in each period, at a seeded random phase, for as long as the intervals take.
    fn by_period(timing: &Timing, period_ns: u64, seed: u64) -> Self {
        let period_ns = period_ns.max(1);
        let total_ns = timing.interval_ns.saturating_mul(u64::from(timing.points));
        let count = u32::try_from(total_ns / period_ns).unwrap_or(u32::MAX);
        let phase = Some(Pcg64Mcg::seed_from_u64(seed));
        Self { interval_ns: period_ns, count, phase, next: 0 }
    }
}

impl Iterator for Schedule {
    /// Offset of an intended start from the beginning of the schedule, in ns.
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.next >= self.count {
            return None;
        }
        let index = u64::from(self.next);
        self.next += 1;
        Some(match &mut self.phase {
            None => (index + 1) * self.interval_ns,
            Some(random) => index * self.interval_ns + random.random_range(0..self.interval_ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(interval_ns: u64, points: u32) -> Timing {
        Timing { profile: "custom".to_owned(), interval_ns, points, warmup_ns: 0, timeout_ns: 0 }
    }

    #[test]
    fn every_interaction_follows_an_idle_interval() {
        let starts: Vec<u64> = Schedule::by_interval(&timing(10, 3)).collect();
        assert_eq!(starts, [10, 20, 30]);
    }

    #[test]
    fn periodic_starts_are_seeded_and_one_a_period() {
        let starts: Vec<u64> = Schedule::by_period(&timing(1000, 2), 100, 7).collect();
        let again: Vec<u64> = Schedule::by_period(&timing(1000, 2), 100, 7).collect();
        assert_eq!(starts, again);
        assert_eq!(starts.len(), 20);
        assert!(starts.iter().enumerate().all(|(period, start)| start / 100 == period as u64));
        assert_ne!(starts, Schedule::by_period(&timing(1000, 2), 100, 8).collect::<Vec<_>>());
    }
}
