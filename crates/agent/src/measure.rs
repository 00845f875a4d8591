//! The measuring phase: one sample after the other, or the histograms of a periodic probe.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use model::histogram;
use model::{Censored, CounterSet, EndStatus, HistogramRecord, Line, SampleRecord};
use probes::{Desc, Rhythm};
use sys::clock::monotonic_ns;

use crate::load_group::LoadGroup;
use crate::observer::Observer;
use crate::prober::Prober;
use crate::record::{Kind, Record, SHORT_BYTES, named_usage, word};
use crate::schedule::Schedule;
use crate::waiter::Woken;

/// The counters before a sample are read this long before its intended start, in ns.
const LEAD_NS: u64 = 10_000_000;
/// Time between two histograms of a periodic probe, in ns.
const TICK_NS: u64 = 1_000_000_000;

/// What is needed while measuring.
pub(crate) struct Measuring<'m, 'a, 's, W> {
    pub(crate) prober: &'m mut Prober,
    pub(crate) observer: &'m mut Observer<'a, W>,
    pub(crate) load: &'m mut LoadGroup<'s>,
    pub(crate) probe: &'static Desc,
    pub(crate) origin_ns: u64,
}

/// How waiting for the next record ended.
enum Awaited {
    Record(Box<Record>),
    Censored(Censored),
    Interrupted,
}

impl<W: Write> Measuring<'_, '_, '_, W> {
    /// Measures the whole schedule; how it ended.
    pub(crate) fn all(mut self, schedule: Schedule) -> io::Result<EndStatus> {
        match self.probe.rhythm {
            Rhythm::Interval => self.samples(schedule),
            Rhythm::Periodic => self.histograms(schedule),
        }
    }

    fn samples(&mut self, schedule: Schedule) -> io::Result<EndStatus> {
        let mut last: Option<CounterSet> = None;
        for (index, offset_ns) in schedule.enumerate() {
            let intended_ns = self.origin_ns + offset_ns;
            if let Some(status) = self.sleep_until(intended_ns.saturating_sub(LEAD_NS))? {
                return Ok(status);
            }
            // A start that was missed while the sample before was under way begins where that
            // one ended.
            let before = match last.take() {
                Some(after) if monotonic_ns() >= intended_ns => after,
                _ => self.observer.read_counters(self.load),
            };
            let awaited = self.await_record(intended_ns)?;
            let after = self.observer.read_counters(self.load);
            last = Some(after.clone());
            if let Some(status) =
                self.write_sample(index as u32, intended_ns, awaited, before, after)?
            {
                return Ok(status);
            }
        }
        self.complete()
    }

    /// Waits for a moment; a status if the run ends here.
    fn sleep_until(&mut self, until_ns: u64) -> io::Result<Option<EndStatus>> {
        loop {
            if self.observer.waiter.stop_requested() {
                return Ok(Some(EndStatus::Interrupted));
            }
            if self.observer.load_died(self.load)? {
                return Ok(Some(EndStatus::LoadDied));
            }
            if self.observer.waiter.wait(None, until_ns) == Woken::Time {
                return Ok(None);
            }
        }
    }

    /// Waits for the record of the sample that was to start at `intended_ns`. The death of the
    /// load does not end the wait: the sample is taken first.
    fn await_record(&mut self, intended_ns: u64) -> io::Result<Awaited> {
        let until_ns = intended_ns + self.observer.assignment.spec.timing.timeout_ns;
        loop {
            let fd = self.prober.records.as_fd();
            match self.observer.waiter.wait(Some(fd), until_ns) {
                Woken::Readable => {
                    return Ok(match self.prober.read_record() {
                        Some(record) => Awaited::Record(Box::new(record)),
                        None => Awaited::Censored(Censored::ProbeDied),
                    });
                }
                Woken::Time => return Ok(Awaited::Censored(Censored::Timeout)),
                Woken::Signal if self.observer.waiter.stop_requested() => {
                    return Ok(Awaited::Interrupted);
                }
                Woken::Signal => {
                    self.observer.load_died(self.load)?;
                }
            }
        }
    }

    /// Writes one sample; a status if it was the last one.
    fn write_sample(
        &mut self,
        index: u32,
        intended_ns: u64,
        awaited: Awaited,
        mut before: CounterSet,
        mut after: CounterSet,
    ) -> io::Result<Option<EndStatus>> {
        let relative_ns = |moment_ns| self.observer.output.relative_ns(moment_ns);
        let mut sample = SampleRecord {
            at_ns: self.observer.output.now_ns(),
            index,
            intended_ns: relative_ns(intended_ns),
            started_ns: None,
            completed_ns: None,
            censored: None,
            censored_at_ns: None,
            parts: BTreeMap::new(),
            before: CounterSet::new(),
            after: CounterSet::new(),
        };
        let mut warning = None;
        let status = match awaited {
            Awaited::Interrupted => return Ok(Some(EndStatus::Interrupted)),
            Awaited::Record(record) => {
                sample.started_ns = Some(relative_ns(record.started_ns));
                if record.kind == Kind::Sample {
                    sample.completed_ns = Some(relative_ns(record.completed_ns));
                    sample.parts = named_parts(self.probe, &record);
                } else {
                    sample.censored = Some(Censored::Failed);
                    sample.censored_at_ns = Some(relative_ns(record.completed_ns));
                    warning = Some(format!("sample {index} failed: {}", record.message));
                }
                before.insert("rusage".to_owned(), named_usage(&record.before));
                after.insert("rusage".to_owned(), named_usage(&record.after));
                None
            }
            Awaited::Censored(why) => {
                sample.censored = Some(why);
                sample.censored_at_ns = Some(sample.at_ns);
                Some(if why == Censored::Timeout { EndStatus::Timeout } else { EndStatus::Killed })
            }
        };
        sample.before = before;
        sample.after = after;
        self.observer.output.line(&Line::Sample(Box::new(sample)))?;
        if let Some(text) = warning {
            self.observer.output.warning(text)?;
        }
        Ok(status)
    }

    fn histograms(&mut self, schedule: Schedule) -> io::Result<EndStatus> {
        let starts: Vec<u64> = schedule.map(|offset_ns| self.origin_ns + offset_ns).collect();
        let last_ns = starts.last().copied().unwrap_or(self.origin_ns);
        let until_ns = last_ns + self.observer.assignment.spec.timing.timeout_ns;
        rustix::io::ioctl_fionbio(&self.prober.records, true)?;
        let mut before = self.observer.read_counters(self.load);
        let mut done = 0;
        let mut tick_ns = self.origin_ns;
        while done < starts.len() {
            tick_ns = (tick_ns + TICK_NS).min(until_ns);
            // The last wake-ups arrive between two ticks: look again soon after the last start.
            let look_ns =
                if tick_ns > last_ns { monotonic_ns().max(last_ns) + LEAD_NS } else { tick_ns };
            let stopped = self.sleep_until(look_ns)?;
            // What came until now is kept, whatever ended the wait.
            let (delays_ns, gone) = self.read_short_records()?;
            let after = self.observer.read_counters(self.load);
            let now = done + delays_ns.len();
            self.write_histogram(&starts[done..now.min(starts.len())], &delays_ns, before, &after)?;
            before = after;
            done = now;
            if let Some(status) = stopped {
                return Ok(status);
            }
            if done < starts.len() && (gone || monotonic_ns() >= until_ns) {
                let why = if gone { Censored::ProbeDied } else { Censored::Timeout };
                return self.write_missing(why, done, starts[done], before);
            }
        }
        self.complete()
    }

    /// The status after the whole schedule: a load that died meanwhile is not kept quiet.
    fn complete(&mut self) -> io::Result<EndStatus> {
        let died = self.observer.load_died(self.load)?;
        Ok(if died { EndStatus::LoadDied } else { EndStatus::Complete })
    }

    /// The delays that the prober has reported since the last look, in ns, and whether its process
    /// has ended.
    fn read_short_records(&mut self) -> io::Result<(Vec<u64>, bool)> {
        let mut delays_ns = Vec::new();
        let mut bytes = [0; SHORT_BYTES * 256];
        loop {
            // Short records are written whole and their size divides the buffer's.
            match self.prober.records.read(&mut bytes) {
                Ok(0) => return Ok((delays_ns, true)),
                Ok(count) => delays_ns.extend(
                    bytes[..count].chunks_exact(SHORT_BYTES).map(|entry| word(&entry[8..])),
                ),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok((delays_ns, false));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn write_histogram(
        &mut self,
        starts: &[u64],
        delays_ns: &[u64],
        before: CounterSet,
        after: &CounterSet,
    ) -> io::Result<()> {
        let (Some(first_ns), Some(last_ns)) = (starts.first(), starts.last()) else {
            return Ok(());
        };
        let output = &mut self.observer.output;
        let record = HistogramRecord {
            at_ns: output.now_ns(),
            from_ns: output.relative_ns(*first_ns),
            to_ns: output.relative_ns(*last_ns) + 1,
            count: delays_ns.len() as u64,
            hdr_v2_base64: histogram::encode(delays_ns).map_err(io::Error::other)?,
            before,
            after: after.clone(),
        };
        output.line(&Line::Histogram(Box::new(record)))
    }

    /// The wake-ups that never came: one censored sample for the first of them.
    fn write_missing(
        &mut self,
        why: Censored,
        index: usize,
        intended_ns: u64,
        counters: CounterSet,
    ) -> io::Result<EndStatus> {
        let awaited = Awaited::Censored(why);
        let after = counters.clone();
        let status = self.write_sample(index as u32, intended_ns, awaited, counters, after)?;
        Ok(status.unwrap_or(EndStatus::Timeout))
    }
}

fn named_parts(probe: &Desc, record: &Record) -> BTreeMap<String, u64> {
    probe.parts.iter().map(|name| (*name).to_owned()).zip(record.parts).collect()
}
