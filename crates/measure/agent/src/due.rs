//! The intended starts of interactions (a pure function of the spec), and those not completed. The
//! observer and the reader of its lines share this code, so both write the same end.

use std::collections::BTreeMap;
use std::iter::{Enumerate, Peekable};

use model::histogram::{self, HistogramError};
use model::{Censored, CensoredDelays, HistogramRecord, Line, Measure};
use model::{SampleRecord, Spec, Timing};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use workloads::Rhythm;

/// Time from the line that opens the measuring phase to the origin of the schedule, in ns.
const BEGIN_LEAD_NS: u64 = 2_000_000;

#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    interval_ns: u64,
    count: u32,
    /// Puts each start at a random phase of its interval; `None`: at its end.
    phase: Option<Pcg64Mcg>,
    next: u32,
}

impl Schedule {
    /// The schedule of a probe with these parameters; `None` if the period is missing.
    pub(crate) fn new(spec: &Spec, rhythm: Rhythm, params: &BTreeMap<String, u64>) -> Option<Self> {
        Some(match rhythm {
            Rhythm::Interval => Self::by_interval(&spec.timing),
            Rhythm::Periodic => Self::by_period(&spec.timing, *params.get("period_ns")?, spec.seed),
        })
    }

    /// One start at the end of each interval, so that idle time precedes each.
    pub(crate) fn by_interval(timing: &Timing) -> Self {
        Self { interval_ns: timing.interval_ns, count: timing.points, phase: None, next: 0 }
    }

    /// One start per period, at a seeded random phase, for as long as the intervals take.
    fn by_period(timing: &Timing, period_ns: u64, seed: u64) -> Self {
        let period_ns = period_ns.max(1);
        let total_ns = timing.interval_ns.saturating_mul(u64::from(timing.points));
        let count = u32::try_from(total_ns / period_ns).unwrap_or(u32::MAX);
        let phase = Some(Pcg64Mcg::seed_from_u64(seed));
        Self { interval_ns: period_ns, count, phase, next: 0 }
    }
}

impl Iterator for Schedule {
    /// An intended start in ns from the beginning of the schedule.
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

/// The starts not completed yet. Times are in ns from the start of the run.
pub struct Due {
    rhythm: Rhythm,
    timeout_ns: u64,
    pub(crate) origin_ns: u64,
    starts: Peekable<Enumerate<Schedule>>,
    /// When measuring ended; nothing is due after that.
    ended_ns: Option<u64>,
}

impl Due {
    /// The starts of a run with this spec, measured from `measuring_ns` on, if it has any.
    pub fn new(spec: &Spec, measuring_ns: u64) -> Option<Self> {
        let Measure::Probe(probe) = &spec.measure else { return None };
        let rhythm = workloads::find_probe(&probe.name)?.as_probe()?.rhythm;
        let schedule = Schedule::new(spec, rhythm, &probe.params)?;
        Some(Self::all(rhythm, schedule, spec.timing.timeout_ns, measuring_ns))
    }

    /// As [`Self::new`], for a known schedule.
    pub(crate) fn all(
        rhythm: Rhythm,
        schedule: Schedule,
        timeout_ns: u64,
        measuring_ns: u64,
    ) -> Self {
        Self {
            rhythm,
            timeout_ns,
            origin_ns: measuring_ns.saturating_add(BEGIN_LEAD_NS),
            starts: schedule.enumerate().peekable(),
            ended_ns: None,
        }
    }

    /// The next start; `None` after the last one.
    pub(crate) fn next_ns(&mut self) -> Option<u64> {
        self.starts.peek().map(|(_, offset_ns)| self.origin_ns.saturating_add(*offset_ns))
    }

    /// The last start of the schedule, or its origin if it has none.
    pub(crate) fn last_ns(&self) -> u64 {
        self.origin_ns
            .saturating_add(self.starts.clone().last().map_or(0, |(_, offset_ns)| offset_ns))
    }

    /// Removes the next start, which has its line now: its number and time.
    pub(crate) fn take(&mut self) -> Option<(u32, u64)> {
        let start_ns = self.next_ns()?;
        self.starts.next().map(|(index, _)| (index as u32, start_ns))
    }

    /// Removes the starts that a line of the run accounts for.
    pub fn account(&mut self, line: &Line) {
        match line {
            Line::Sample(sample) => {
                self.take();
                let ends = sample.censored.is_some_and(|why| why != Censored::Failed);
                let ended_ns = sample.censored_at_ns.filter(|_| ends);
                self.ended_ns = self.ended_ns.or(ended_ns);
            }
            Line::Histogram(record) => {
                let censored = record.censored.as_ref();
                let count = record.count + censored.map_or(0, |censored| censored.count);
                let _ = (0..count).try_for_each(|_| self.take().map(drop));
                self.ended_ns = self.ended_ns.or(censored.map(|_| record.at_ns));
            }
            _ => {}
        }
    }

    /// The lines of all starts due at `at_ns`, when the run ended. `why` is [`Censored::Timeout`] if
    /// a timeout ended it; a start that waited less than that is cut off by the end of the run.
    /// Fails when a histogram cannot hold a bound.
    pub fn censored(mut self, why: Censored, at_ns: u64) -> Result<Vec<Line>, HistogramError> {
        let until_ns = self.ended_ns.map_or(at_ns, |ended_ns| ended_ns.min(at_ns));
        let mut due = Vec::new();
        while self.next_ns().is_some_and(|start_ns| start_ns <= until_ns) {
            due.extend(self.take());
        }
        if self.rhythm == Rhythm::Periodic {
            return self.histogram(&due, why, until_ns).map(|line| line.into_iter().collect());
        }
        let sample = |(index, intended_ns): (u32, u64)| {
            Line::Sample(Box::new(SampleRecord {
                at_ns: until_ns,
                index,
                intended_ns,
                censored: Some(self.reason(why, until_ns - intended_ns)),
                censored_at_ns: Some(until_ns),
                ..SampleRecord::default()
            }))
        };
        Ok(due.into_iter().map(sample).collect())
    }

    fn histogram(
        &self,
        due: &[(u32, u64)],
        why: Censored,
        until_ns: u64,
    ) -> Result<Option<Line>, HistogramError> {
        let (Some((_, first_ns)), Some((_, last_ns))) = (due.first(), due.last()) else {
            return Ok(None);
        };
        let bounds_ns: Vec<u64> = due.iter().map(|(_, start_ns)| until_ns - start_ns).collect();
        Ok(Some(Line::Histogram(Box::new(HistogramRecord {
            at_ns: until_ns,
            from_ns: *first_ns,
            to_ns: last_ns + 1,
            hdr_v2_base64: histogram::encode(&[])?,
            censored: Some(CensoredDelays {
                reason: self.reason(why, until_ns - first_ns),
                count: bounds_ns.len() as u64,
                hdr_v2_base64: histogram::encode(&bounds_ns)?,
            }),
            ..HistogramRecord::default()
        }))))
    }

    fn reason(&self, why: Censored, waited_ns: u64) -> Censored {
        match why {
            Censored::Timeout if waited_ns < self.timeout_ns => Censored::RunEnded,
            why => why,
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{LoadSpec, ProbeSpec, SubjectSpec};

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;
    /// The measuring phase of the tests begins so that the schedule's origin is a whole second.
    const MEASURING_NS: u64 = SECOND_NS - BEGIN_LEAD_NS;

    fn due(probe: &str, interval_ns: u64, points: u32, timeout_ns: u64) -> Due {
        let params = [("period_ns".to_owned(), 4_000_000)].into();
        let spec = Spec {
            subject: SubjectSpec::Host { memory_bytes: 1 << 20 },
            load: LoadSpec {
                name: "noload".to_owned(),
                version: 1,
                intensity: 1.0,
                params: BTreeMap::new(),
            },
            measure: Measure::Probe(ProbeSpec { name: probe.to_owned(), version: 1, params }),
            timing: Timing {
                profile: "custom".to_owned(),
                interval_ns,
                points,
                warmup_ns: 0,
                timeout_ns,
            },
            sysctls: BTreeMap::new(),
            seed: 1,
            block: 0,
            order: 0,
        };
        Due::new(&spec, MEASURING_NS).unwrap()
    }

    /// The default profile: five samples, one every 2 s.
    fn samples() -> Due {
        due("response", 2 * SECOND_NS, 5, 10 * SECOND_NS)
    }

    fn bounds(lines: &[Line]) -> Vec<(u32, u64, Censored)> {
        let sample = |line: &Line| match line {
            Line::Sample(sample) => {
                let bound_s = sample.delay_ns() / SECOND_NS;
                (sample.index, bound_s, sample.censored.unwrap())
            }
            other => panic!("{other:?}"),
        };
        lines.iter().map(sample).collect()
    }

    #[test]
    fn a_timeout_leaves_a_bound_for_every_start_that_is_due() {
        let mut due = samples();
        due.take();
        due.take();
        // The third sample, meant for 7 s, hangs.
        let lines = due.censored(Censored::Timeout, 17 * SECOND_NS).unwrap();
        let (timeout, ended) = (Censored::Timeout, Censored::RunEnded);
        assert_eq!(bounds(&lines), [(2, 10, timeout), (3, 8, ended), (4, 6, ended)]);
    }

    #[test]
    fn what_is_not_due_is_not_written() {
        let mut due = samples();
        due.take();
        let lines = due.censored(Censored::RunEnded, 8 * SECOND_NS).unwrap();
        assert_eq!(bounds(&lines), [(1, 3, Censored::RunEnded), (2, 1, Censored::RunEnded)]);
        assert_eq!(samples().censored(Censored::RunEnded, SECOND_NS).unwrap(), []);
    }

    #[test]
    fn nothing_is_due_after_a_line_that_ended_the_measuring() {
        let mut due = samples();
        let mut lines = samples().censored(Censored::Timeout, 13 * SECOND_NS).unwrap();
        // The writer was killed between two lines.
        lines.truncate(3);
        lines.iter().for_each(|line| due.account(line));
        let rest = due.censored(Censored::RunEnded, 60 * SECOND_NS).unwrap();
        assert_eq!(bounds(&rest), [(3, 4, Censored::RunEnded), (4, 2, Censored::RunEnded)]);
    }

    #[test]
    fn wake_ups_that_never_came_are_counted_with_their_bounds() {
        let mut due = due("wake", 10 * SECOND_NS, 1, 10 * SECOND_NS);
        // Frozen after 3 s of 10 s, at a wake-up every 4 ms.
        assert_eq!((0..750).filter_map(|_| due.take()).count(), 750);
        let until_ns = due.last_ns() + 10 * SECOND_NS;
        let lines = due.censored(Censored::Timeout, until_ns).unwrap();
        let [Line::Histogram(record)] = lines.as_slice() else { panic!("{lines:?}") };
        let censored = record.censored.as_ref().unwrap();
        assert_eq!((record.count, censored.count), (0, 1750));
        assert_eq!(censored.reason, Censored::Timeout);
        let delays_ns = record.delays_ns().unwrap();
        assert_eq!(delays_ns.len(), 1750);
        assert!(delays_ns.iter().all(|delay| delay.is_lower_bound));
        let longest_ns = delays_ns.iter().map(|delay| delay.value).fold(0.0, f64::max);
        assert!((16.9e9..17.1e9).contains(&longest_ns), "{longest_ns}");
    }

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
