//! A run that times a probe: one sample after the other, or the histograms of a periodic probe.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use model::{Censored, CounterSet, EndStatus, HistogramRecord, Line, Measure, ProbeSpec};
use model::{SampleRecord, histogram};
use sys::clock::{monotonic_ns, sleep_until_ns};
use sys::process::{end, fork_child, signal, signals};
use workloads::{Rhythm, Workload};

use crate::assignment::{AgentError, Assignment, Freeze};
use crate::due::{Due, Schedule};
use crate::load::{LoadGroup, LoadPlan, setting};
use crate::observer::Observer;
use crate::output::Output;
use crate::prober::Prober;
use crate::record::{Kind, Record, named_usage};
use crate::waiter::{End, Waiter, Woken};

/// Time from reading the counters to the intended start of a sample, in ns.
const LEAD_NS: u64 = 10_000_000;
/// Time between two histograms of a periodic probe, in ns.
const TICK_NS: u64 = 1_000_000_000;

/// Name of the prober's own usage among the counters of a sample.
const OWN_USAGE: &str = "rusage";

pub(crate) fn run(
    assignment: &Assignment,
    load: &'static Workload,
    workload: &'static Workload,
    out: impl Write,
) -> Result<EndStatus, AgentError> {
    let spec = &assignment.spec;
    let not_a_probe = || AgentError::Probe(format!("{} is not a probe", workload.name));
    let probe = *workload.as_probe().ok_or_else(not_a_probe)?;
    let setting = setting(assignment);
    let plan = (probe.plan)(&setting);
    let load = LoadPlan::new(assignment, load, plan.disk_bytes)?;
    let schedule = Schedule::new(spec, probe.rhythm, &plan.params)
        .ok_or_else(|| AgentError::Probe("it has no period".to_owned()))?;

    let output = Output::new(out);
    // Before the first fork: from here on a stop request is never lost.
    let waiter = Waiter::new()?;
    let mut prober = Prober::start(probe, &setting, &plan, schedule.clone(), &assignment.enter)
        .map_err(|error| AgentError::Probe(format!("start its process: {error}")))?;
    let mut observer = Observer::new(assignment, output, waiter, Some(prober.pid), Vec::new());
    let measure = Measure::Probe(ProbeSpec {
        name: workload.name.to_owned(),
        version: workload.version,
        params: plan.params.clone(),
    });
    observer.write_header(&load, measure, &plan.notes)?;
    let status = match prober.await_ready(&observer.waiter) {
        Ok(()) => observer.under_load(&load, |observer, load, measuring_ns| {
            let freezer =
                assignment.freeze.and_then(|freeze| Freezer::start(freeze, prober.pid).ok());
            let due = Due::all(probe.rhythm, schedule, spec.timing.timeout_ns, measuring_ns);
            let (prober, rhythm) = (&mut prober, probe.rhythm);
            let measuring =
                Measuring { prober, observer, load, probe: workload, rhythm, due, before: None };
            let status = measuring.all();
            drop(freezer);
            status
        })?,
        Err(end) => observer.not_ready(AgentError::Probe, end)?,
    };
    observer.output.end(status)?;
    Ok(status)
}

struct Measuring<'m, 'a, 's, W> {
    prober: &'m mut Prober,
    observer: &'m mut Observer<'a, W>,
    load: &'m mut LoadGroup<'s>,
    probe: &'static Workload,
    rhythm: Rhythm,
    /// The starts without a line.
    due: Due,
    /// The counters before the next line, if they were read.
    before: Option<CounterSet>,
}

impl<W: Write> Measuring<'_, '_, '_, W> {
    /// Measures the whole schedule; every start that was due then has a line.
    fn all(mut self) -> io::Result<EndStatus> {
        match self.measure() {
            Err(End::Io(error)) => Err(error),
            end => self.conclude(end),
        }
    }

    fn measure(&mut self) -> Result<(), End> {
        let origin_ns = self.observer.output.moment_ns(self.due.origin_ns);
        self.prober.begin(origin_ns).map_err(|_| End::Gone)?;
        match self.rhythm {
            Rhythm::Interval => self.samples()?,
            Rhythm::Periodic => self.histograms(origin_ns)?,
        }
        if self.observer.load_died(self.load)? { Err(End::LoadDied) } else { Ok(()) }
    }

    /// Writes what the prober completed, every other due start, and the prober's death, if any.
    fn conclude(mut self, end: Result<(), End>) -> io::Result<EndStatus> {
        let ended_ns = self.observer.output.now_ns();
        rustix::io::ioctl_fionbio(&self.prober.records, true)?;
        match self.rhythm {
            Rhythm::Interval => {
                while let Some(record) = self.prober.read_record() {
                    self.write_sample(&record)?;
                }
            }
            Rhythm::Periodic => {
                let (delays_ns, _) = self.read_delays()?;
                self.write_histogram(&delays_ns)?;
            }
        }
        let why = match end {
            Err(End::Timeout) => Censored::Timeout,
            Err(End::Gone) => Censored::ProbeDied,
            _ => Censored::RunEnded,
        };
        let lines = self.due.censored(why, ended_ns).map_err(io::Error::other)?;
        for mut line in lines {
            // The first of them was running; the others have no counters.
            let counters = self
                .before
                .take()
                .map(|before| (before, self.observer.read_counters(self.load, true)))
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
        self.observer.status(match end {
            Err(End::Gone) => Err(End::Died(self.prober.await_death())),
            end => end,
        })
    }

    fn samples(&mut self) -> Result<(), End> {
        while let Some(start_ns) = self.due.next_ns() {
            let intended_ns = self.observer.output.moment_ns(start_ns);
            self.sleep_until(intended_ns.saturating_sub(LEAD_NS))?;
            // A missed start begins where the previous sample ended.
            if self.before.is_none() || monotonic_ns() < intended_ns {
                self.before = Some(self.observer.read_counters(self.load, false));
            }
            let record = self.await_record(intended_ns)?;
            self.write_sample(&record)?;
        }
        Ok(())
    }

    fn sleep_until(&mut self, until_ns: u64) -> Result<(), End> {
        loop {
            self.observer.check(self.load)?;
            if self.prober.has_died() {
                return Err(End::Gone);
            }
            if self.observer.waiter.wait(None, until_ns) == Woken::Time {
                return Ok(());
            }
        }
    }

    /// Waits for the sample of `intended_ns`, even if the load dies, unless measuring ends.
    fn await_record(&mut self, intended_ns: u64) -> Result<Record, End> {
        let until_ns = intended_ns + self.observer.assignment.spec.timing.timeout_ns;
        loop {
            match self.observer.waiter.wait(Some(self.prober.records.as_fd()), until_ns) {
                Woken::Readable => return self.prober.read_record().ok_or(End::Gone),
                Woken::Time => return Err(End::Timeout),
                Woken::Signal if self.observer.waiter.stop_requested() => {
                    return Err(End::Interrupted);
                }
                Woken::Signal => {
                    self.observer.load_died(self.load)?;
                }
            }
        }
    }

    fn write_sample(&mut self, record: &Record) -> io::Result<()> {
        let Some((index, intended_ns)) = self.due.take() else { return Ok(()) };
        let mut after = self.observer.read_counters(self.load, true);
        let mut before = self.before.take().unwrap_or_default();
        let output = &mut self.observer.output;
        let ended_ns = output.relative_ns(record.completed_ns);
        let is_complete = record.kind == Kind::Sample;
        before.insert(OWN_USAGE.into(), named_usage(&record.before));
        after.insert(OWN_USAGE.into(), named_usage(&record.after));
        let names = self.probe.measures.iter().map(|name| (*name).into());
        let line = Line::Sample(Box::new(SampleRecord {
            at_ns: output.now_ns(),
            index,
            intended_ns,
            started_ns: Some(output.relative_ns(record.started_ns)),
            completed_ns: is_complete.then_some(ended_ns),
            censored: (!is_complete).then_some(Censored::Failed),
            censored_at_ns: (!is_complete).then_some(ended_ns),
            parts: names.zip(record.parts).filter(|_| is_complete).collect(),
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

    /// Reuses the counters after one line as those before the next, unless they are read again.
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

    fn histograms(&mut self, origin_ns: u64) -> Result<(), End> {
        let last_ns = self.observer.output.moment_ns(self.due.last_ns());
        let until_ns = last_ns + self.observer.assignment.spec.timing.timeout_ns;
        rustix::io::ioctl_fionbio(&self.prober.records, true).map_err(io::Error::from)?;
        self.before = Some(self.observer.read_counters(self.load, true));
        let mut tick_ns = origin_ns;
        while self.due.next_ns().is_some() {
            tick_ns = (tick_ns + TICK_NS).min(until_ns);
            // The last wake-ups arrive between two ticks: read again soon after the last start.
            let look_ns =
                if tick_ns > last_ns { monotonic_ns().max(last_ns) + LEAD_NS } else { tick_ns };
            self.sleep_until(look_ns)?;
            let (delays_ns, gone) = self.read_delays()?;
            self.write_histogram(&delays_ns)?;
            if self.due.next_ns().is_some() {
                if gone {
                    return Err(End::Gone);
                }
                if monotonic_ns() >= until_ns {
                    return Err(End::Timeout);
                }
            }
        }
        Ok(())
    }

    /// The delays since the last call in ns, and whether the prober has ended.
    fn read_delays(&mut self) -> io::Result<(Vec<u64>, bool)> {
        // A quick probe sends some hundred records a second.
        let mut bytes = Vec::with_capacity(1 << 13);
        let gone = match self.prober.records.read_to_end(&mut bytes) {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Err(error) => return Err(error),
        };
        // Each record is written atomically.
        let delays_ns = bytes.as_chunks().0.iter().map(|delay_ns| u64::from_le_bytes(*delay_ns));
        Ok((delays_ns.collect(), gone))
    }

    /// Writes the delays of the next starts.
    fn write_histogram(&mut self, delays_ns: &[u64]) -> io::Result<()> {
        let starts: Vec<u64> =
            delays_ns.iter().map_while(|_| self.due.take()).map(|(_, start_ns)| start_ns).collect();
        let (Some(first_ns), Some(last_ns)) = (starts.first(), starts.last()) else {
            return Ok(());
        };
        let after = self.observer.read_counters(self.load, true);
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

/// The test hook that freezes the prober periodically, until it is dropped.
struct Freezer {
    pid: u32,
    prober: u32,
}

impl Freezer {
    fn start(freeze: Freeze, prober: u32) -> io::Result<Self> {
        let pid = fork_child(|| {
            let mut next_ns = monotonic_ns();
            loop {
                next_ns += freeze.every_ns.max(1);
                sleep_until_ns(next_ns);
                let stopped = signal(prober, signals::STOP);
                sleep_until_ns(next_ns + freeze.freeze_ns);
                if stopped.and_then(|()| signal(prober, signals::CONT)).is_err() {
                    return 1;
                }
            }
        })?;
        Ok(Self { pid, prober })
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        let _ = end([self.pid]);
        let _ = signal(self.prober, signals::CONT);
    }
}
