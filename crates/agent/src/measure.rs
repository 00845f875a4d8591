//! The measuring phase: one sample after the other, or the histograms of a periodic probe.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use model::histogram;
use model::{Censored, CounterSet, EndStatus, HistogramRecord, Line, SampleRecord, Values};
use sys::clock::monotonic_ns;
use workloads::{Rhythm, Workload};

use crate::due::Due;
use crate::load_group::LoadGroup;
use crate::observer::Observer;
use crate::prober::Prober;
use crate::record::{Kind, Record, SHORT_BYTES, named_usage, word};
use crate::waiter::Woken;

/// The counters before a sample are read this long before its intended start, in ns.
const LEAD_NS: u64 = 10_000_000;
/// Time between two histograms of a periodic probe, in ns.
const TICK_NS: u64 = 1_000_000_000;

/// Name of what the prober itself used, among the counters of a sample.
const OWN_USAGE: &str = "rusage";

/// What is needed while measuring.
pub(crate) struct Measuring<'m, 'a, 's, W> {
    pub(crate) prober: &'m mut Prober,
    pub(crate) observer: &'m mut Observer<'a, W>,
    pub(crate) load: &'m mut LoadGroup<'s>,
    pub(crate) probe: &'static Workload,
    pub(crate) rhythm: Rhythm,
    /// The starts that have no line yet.
    pub(crate) due: Due,
    /// The counters before the next line, if they were read.
    pub(crate) before: Option<CounterSet>,
}

/// Why measuring ended.
enum End {
    Complete,
    Timeout,
    Interrupted,
    LoadDied,
    ProbeDied,
}

impl End {
    /// Why the starts that are due have no completion.
    fn censored(&self) -> Censored {
        match self {
            Self::Timeout => Censored::Timeout,
            Self::ProbeDied => Censored::ProbeDied,
            Self::Complete | Self::Interrupted | Self::LoadDied => Censored::RunEnded,
        }
    }
}

impl<W: Write> Measuring<'_, '_, '_, W> {
    /// Measures the whole schedule; how it ended. Whatever the end is, every start that was due
    /// has its line after this call.
    pub(crate) fn all(mut self) -> io::Result<EndStatus> {
        let origin_ns = self.observer.output.moment_ns(self.due.origin_ns());
        let end = match (self.prober.begin(origin_ns), self.rhythm) {
            (Err(_), _) => End::ProbeDied,
            (Ok(()), Rhythm::Interval) => self.samples()?,
            (Ok(()), Rhythm::Periodic) => self.histograms(origin_ns)?,
        };
        self.conclude(&end)
    }

    /// Writes what the prober had completed when measuring ended, then every other start that is
    /// due, and what a prober that is gone died of.
    fn conclude(mut self, end: &End) -> io::Result<EndStatus> {
        let ended_ns = self.observer.output.now_ns();
        rustix::io::ioctl_fionbio(&self.prober.records, true)?;
        match self.rhythm {
            Rhythm::Interval => {
                while let Some(record) = self.prober.read_record() {
                    self.write_sample(&record)?;
                }
            }
            Rhythm::Periodic => {
                let (delays_ns, _) = self.read_short_records()?;
                self.write_histogram(&delays_ns)?;
            }
        }
        let lines = self.due.censored(end.censored(), ended_ns).map_err(io::Error::other)?;
        for mut line in lines {
            // The first of them was under way; those behind it had not begun, and have no counters.
            let counters = self
                .before
                .take()
                .map(|before| (before, self.observer.read_counters(self.load)))
                .unwrap_or_default();
            let at_ns = self.observer.output.now_ns();
            match &mut line {
                Line::Sample(sample) => {
                    (sample.at_ns, (sample.before, sample.after)) = (at_ns, counters);
                }
                Line::Histogram(record) => {
                    (record.at_ns, (record.before, record.after)) = (at_ns, counters);
                }
                _ => {}
            }
            self.observer.output.line(&line)?;
        }
        Ok(match end {
            End::Complete => EndStatus::Complete,
            End::Timeout => EndStatus::Timeout,
            End::Interrupted => EndStatus::Interrupted,
            End::LoadDied => EndStatus::LoadDied,
            End::ProbeDied => {
                let death = self.prober.await_death();
                self.observer.measured_died(&death)?
            }
        })
    }

    fn samples(&mut self) -> io::Result<End> {
        while let Some(start_ns) = self.due.next_ns() {
            let intended_ns = self.observer.output.moment_ns(start_ns);
            if let Some(end) = self.sleep_until(intended_ns.saturating_sub(LEAD_NS))? {
                return Ok(end);
            }
            // A start that was missed while the sample before was under way begins where that
            // one ended.
            if self.before.is_none() || monotonic_ns() < intended_ns {
                self.before = Some(self.observer.read_counters_before(self.load));
            }
            match self.await_record(intended_ns)? {
                Ok(record) => self.write_sample(&record)?,
                Err(end) => return Ok(end),
            }
        }
        self.after_all()
    }

    /// Waits for a moment; why measuring ends here, if it does.
    fn sleep_until(&mut self, until_ns: u64) -> io::Result<Option<End>> {
        loop {
            if self.observer.waiter.stop_requested() {
                return Ok(Some(End::Interrupted));
            }
            if self.observer.load_died(self.load)? {
                return Ok(Some(End::LoadDied));
            }
            if self.prober.has_died() {
                return Ok(Some(End::ProbeDied));
            }
            if self.observer.waiter.wait(None, until_ns) == Woken::Time {
                return Ok(None);
            }
        }
    }

    /// Waits for the record of the sample that was to start at `intended_ns`, or for what ends the
    /// measuring before. The death of the load does not end the wait: the sample is taken first.
    fn await_record(&mut self, intended_ns: u64) -> io::Result<Result<Record, End>> {
        let until_ns = intended_ns + self.observer.assignment.spec.timing.timeout_ns;
        loop {
            let fd = self.prober.records.as_fd();
            match self.observer.waiter.wait(Some(fd), until_ns) {
                Woken::Readable => return Ok(self.prober.read_record().ok_or(End::ProbeDied)),
                Woken::Time => return Ok(Err(End::Timeout)),
                Woken::Signal if self.observer.waiter.stop_requested() => {
                    return Ok(Err(End::Interrupted));
                }
                Woken::Signal => {
                    self.observer.load_died(self.load)?;
                }
            }
        }
    }

    /// Writes the next sample, which has a record.
    fn write_sample(&mut self, record: &Record) -> io::Result<()> {
        let Some((index, intended_ns)) = self.due.take() else { return Ok(()) };
        let mut after = self.observer.read_counters(self.load);
        let mut before = self.before.take().unwrap_or_default();
        let output = &mut self.observer.output;
        let ended_ns = output.relative_ns(record.completed_ns);
        let is_complete = record.kind == Kind::Sample;
        before.insert(OWN_USAGE.into(), named_usage(&record.before));
        after.insert(OWN_USAGE.into(), named_usage(&record.after));
        let line = Line::Sample(Box::new(SampleRecord {
            at_ns: output.now_ns(),
            index,
            intended_ns,
            started_ns: Some(output.relative_ns(record.started_ns)),
            completed_ns: is_complete.then_some(ended_ns),
            censored: (!is_complete).then_some(Censored::Failed),
            censored_at_ns: (!is_complete).then_some(ended_ns),
            parts: if is_complete { named_parts(self.probe, record) } else { Values::new() },
            before,
            after,
        }));
        output.line(&line)?;
        self.go_on_from(line);
        if is_complete {
            return Ok(());
        }
        self.observer.output.warning(format!("sample {index} failed: {}", record.message))
    }

    /// The counters after one line are those before the next, unless they are read again.
    fn go_on_from(&mut self, line: Line) {
        self.before = match line {
            Line::Sample(sample) => Some(sample.after),
            Line::Histogram(record) => Some(record.after),
            _ => None,
        };
        if let Some(set) = &mut self.before {
            set.remove(OWN_USAGE);
        }
    }

    fn histograms(&mut self, origin_ns: u64) -> io::Result<End> {
        let last_ns = self.observer.output.moment_ns(self.due.last_ns());
        let until_ns = last_ns + self.observer.assignment.spec.timing.timeout_ns;
        rustix::io::ioctl_fionbio(&self.prober.records, true)?;
        self.before = Some(self.observer.read_counters(self.load));
        let mut tick_ns = origin_ns;
        while self.due.next_ns().is_some() {
            tick_ns = (tick_ns + TICK_NS).min(until_ns);
            // The last wake-ups arrive between two ticks: look again soon after the last start.
            let look_ns =
                if tick_ns > last_ns { monotonic_ns().max(last_ns) + LEAD_NS } else { tick_ns };
            if let Some(end) = self.sleep_until(look_ns)? {
                return Ok(end);
            }
            let (delays_ns, gone) = self.read_short_records()?;
            self.write_histogram(&delays_ns)?;
            if self.due.next_ns().is_some() {
                if gone {
                    return Ok(End::ProbeDied);
                }
                if monotonic_ns() >= until_ns {
                    return Ok(End::Timeout);
                }
            }
        }
        self.after_all()
    }

    /// Why measuring ended after the whole schedule: a load that died meanwhile is reported.
    fn after_all(&mut self) -> io::Result<End> {
        let died = self.observer.load_died(self.load)?;
        Ok(if died { End::LoadDied } else { End::Complete })
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

    /// Writes the delays of the next starts, if there are any.
    fn write_histogram(&mut self, delays_ns: &[u64]) -> io::Result<()> {
        let starts: Vec<u64> =
            delays_ns.iter().map_while(|_| self.due.take()).map(|(_, start_ns)| start_ns).collect();
        let (Some(first_ns), Some(last_ns)) = (starts.first(), starts.last()) else {
            return Ok(());
        };
        let after = self.observer.read_counters(self.load);
        let before = self.before.take().unwrap_or_default();
        let output = &mut self.observer.output;
        let line = Line::Histogram(Box::new(HistogramRecord {
            at_ns: output.now_ns(),
            from_ns: *first_ns,
            to_ns: last_ns + 1,
            count: delays_ns.len() as u64,
            hdr_v2_base64: histogram::encode(delays_ns).map_err(io::Error::other)?,
            censored: None,
            before,
            after,
        }));
        output.line(&line)?;
        self.go_on_from(line);
        Ok(())
    }
}

fn named_parts(probe: &Workload, record: &Record) -> Values {
    probe.measures.iter().map(|name| (*name).into()).zip(record.parts).collect()
}
