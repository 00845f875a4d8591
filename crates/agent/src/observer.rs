//! The observer: starts prober and load, keeps time limits, reads counters, writes the run.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use counters::{Reader, Roots, TaskReader};
use model::{CounterRecord, CounterSet, Delivered, EndStatus, Header, Line, Missed, Phase};
use probes::Rhythm;
use sys::clock::{monotonic_ns, realtime_ns, sleep_until_ns};
use sys::process::{Exit, fork_child, signal, signals, wait};

use crate::assignment::{Assignment, Freeze};
use crate::enter::Enter;
use crate::load_group::LoadGroup;
use crate::measure::Measure;
use crate::output::Output;
use crate::prober::Prober;
use crate::record::{Kind, RECORD_BYTES, Record};
use crate::schedule::Schedule;
use crate::waiter::{Waiter, Woken};

/// How long a prober may take to become ready, in ns.
const READY_NS: u64 = 30_000_000_000;
/// How often the load is asked whether it is warm, in ns.
const WARM_TICK_NS: u64 = 20_000_000;
/// Rest between the start of the schedule and the first moment of it, in ns.
const BEGIN_LEAD_NS: u64 = 2_000_000;

/// A run that could not be made at all.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The spec names a load that this build does not have.
    #[error("no load is named {0:?}")]
    UnknownLoad(String),
    /// The spec names a probe that this build does not have.
    #[error("no probe is named {0:?}")]
    UnknownProbe(String),
    /// The load cannot run on this subject.
    #[error("{0}")]
    Unsupported(String),
    /// The prober cannot be made.
    #[error("the probe cannot start: {0}")]
    Probe(String),
    /// The output is gone, or a process cannot be started.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Makes one run and writes its lines to `out`.
///
/// Takes the calling process for its observer: it must have a single thread.
///
/// # Errors
/// When nothing could be measured; whatever happens after the header is written is a line of the
/// run and not an error.
pub fn run(assignment: &Assignment, out: impl Write) -> Result<EndStatus, AgentError> {
    let spec = &assignment.spec;
    let load = loads::find(&spec.load.name)
        .ok_or_else(|| AgentError::UnknownLoad(spec.load.name.clone()))?;
    let probe = probes::find(&spec.probe.name)
        .ok_or_else(|| AgentError::UnknownProbe(spec.probe.name.clone()))?;
    let mut setting = load_setting(assignment);
    let probe_setting = probes::Setting {
        memory_bytes: setting.memory_bytes,
        swap_bytes: setting.swap_bytes,
        interval_ns: spec.timing.interval_ns,
        work_dir: setting.work_dir.clone(),
        seed: setting.seed,
    };
    let probe_plan = (probe.plan)(&probe_setting);
    setting.free_disk_bytes = setting.free_disk_bytes.saturating_sub(probe_plan.disk_bytes);
    let load_plan = (load.plan)(&setting).map_err(|why| AgentError::Unsupported(why.0))?;
    let schedule = match probe.rhythm {
        Rhythm::Interval => Schedule::by_interval(&spec.timing),
        Rhythm::Periodic => {
            Schedule::by_period(&spec.timing, probe_plan.param("period_ns"), setting.seed)
        }
    };

    let mut output = Output::new(out);
    let enter = Enter { groups: &assignment.enter };
    // Before the first child: from here on a request to stop is never lost.
    let waiter = Waiter::new()?;
    let prober = Prober::start(probe, &probe_setting, &probe_plan, schedule.clone(), &enter)
        .map_err(|error| AgentError::Probe(format!("start its process: {error}")))?;
    let prober = Reaped { prober };
    let mut missed = assignment.missed.clone();
    if let Err(error) = sys::memory::lock_all() {
        missed.push(Missed {
            capability: "locked observer".to_owned(),
            reason: format!("mlockall: {error}: the observer itself may be swapped out"),
        });
    }
    let counters = Counters::open(assignment, prober.prober.pid, &mut missed);
    let notes: Vec<&String> = load_plan.notes.iter().chain(&probe_plan.notes).collect();
    let header = header(assignment, load.version, &load_plan, probe.version, &probe_plan, missed);
    output.line(&Line::Header(Box::new(header)))?;
    for note in notes {
        output.warning(note)?;
    }
    let mut observer =
        Observer { assignment, output, waiter, counters, prober, dead_load: None, oom_kills: None };
    observer.oom_kills = observer.oom_kill_count();
    let status = match observer.await_ready() {
        Ok(()) => observer.under_load(load, &setting, &load_plan, probe, schedule)?,
        Err(Ready::Stopped) => EndStatus::Interrupted,
        Err(Ready::Failed(why)) => {
            observer.output.warning(format!("the probe cannot start: {why}"))?;
            observer.output.end(EndStatus::Killed)?;
            return Err(AgentError::Probe(why));
        }
    };
    observer.output.end(status)?;
    Ok(status)
}

fn load_setting(assignment: &Assignment) -> loads::Setting {
    loads::Setting {
        memory_bytes: assignment.spec.subject.memory_bytes(),
        cpus_milli: assignment.cpus_milli,
        swap_bytes: assignment.swap_bytes,
        work_dir: assignment.work_dir.clone(),
        free_disk_bytes: assignment.free_disk_bytes,
        queue_key: assignment.queue_key,
        seed: assignment.spec.seed,
        intensity: assignment.spec.load.intensity,
    }
}

fn header(
    assignment: &Assignment,
    load_version: u32,
    load_plan: &loads::Plan,
    probe_version: u32,
    probe_plan: &probes::Plan,
    mut missed: Vec<Missed>,
) -> Header {
    let mut spec = assignment.spec.clone();
    spec.load.version = load_version;
    spec.load.params.clone_from(&load_plan.params);
    spec.probe.version = probe_version;
    spec.probe.params.clone_from(&probe_plan.params);
    let roots = Roots::system(Some(assignment.work_dir.clone()));
    let (mut facts, facts_missed) = counters::environment(&roots);
    facts.extend(assignment.environment.clone());
    missed.extend(facts_missed);
    Header {
        schema: model::SCHEMA,
        run_id: assignment.run_id.clone(),
        thrashlab: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ns: realtime_ns(),
        spec,
        environment: facts,
        missed,
    }
}

/// A prober that is killed and reaped when it is dropped.
pub(crate) struct Reaped {
    pub(crate) prober: Prober,
}

impl Drop for Reaped {
    fn drop(&mut self) {
        // A prober that is gone already is what we want.
        let _ = signal(self.prober.pid, signals::KILL);
        let _ = wait(self.prober.pid, true);
    }
}

/// All counters of a sample but those of the prober's own usage and of the load.
pub(crate) struct Counters {
    machine: Reader,
    task: TaskReader,
}

impl Counters {
    fn open(assignment: &Assignment, pid: u32, missed: &mut Vec<Missed>) -> Self {
        let (machine, machine_missed) = Reader::open(&assignment.sources);
        let (task, task_missed) = TaskReader::open(Path::new("/proc"), pid);
        missed.extend(machine_missed);
        missed.extend(task_missed);
        Self { machine, task }
    }

    /// Reads them all.
    pub(crate) fn read(&mut self) -> CounterSet {
        let mut set = self.machine.read();
        set.extend(self.task.read());
        set
    }
}

/// Why the prober did not become ready.
enum Ready {
    Stopped,
    Failed(String),
}

/// The state of a run under way.
pub(crate) struct Observer<'a, W> {
    pub(crate) assignment: &'a Assignment,
    pub(crate) output: Output<W>,
    pub(crate) waiter: Waiter,
    pub(crate) counters: Counters,
    pub(crate) prober: Reaped,
    /// Why the load died, if it did.
    pub(crate) dead_load: Option<String>,
    /// Kills of the OOM killer on this machine before the load was started.
    oom_kills: Option<u64>,
}

impl<W: Write> Observer<'_, W> {
    fn await_ready(&mut self) -> Result<(), Ready> {
        let until_ns = monotonic_ns() + READY_NS;
        loop {
            let fd = std::os::fd::AsFd::as_fd(&self.prober.prober.records);
            match self.waiter.wait(Some(fd), until_ns) {
                Woken::Signal if self.waiter.stop_requested() => return Err(Ready::Stopped),
                Woken::Signal => {}
                Woken::Time => return Err(Ready::Failed("it is not ready after 30 s".to_owned())),
                Woken::Readable => {
                    return match self.read_record() {
                        Some(Record { kind: Kind::Ready, .. }) => Ok(()),
                        Some(record) => Err(Ready::Failed(record.message)),
                        None => Err(Ready::Failed("its process died".to_owned())),
                    };
                }
            }
        }
    }

    /// The next record; `None` if the prober is gone.
    pub(crate) fn read_record(&mut self) -> Option<Record> {
        let mut bytes = [0; RECORD_BYTES];
        io::Read::read_exact(&mut self.prober.prober.records, &mut bytes).ok()?;
        Record::decode(&bytes)
    }

    /// Starts the load, waits for its warm state, measures, and stops it.
    fn under_load(
        &mut self,
        desc: &'static loads::Desc,
        setting: &loads::Setting,
        plan: &loads::Plan,
        probe: &'static probes::Desc,
        schedule: Schedule,
    ) -> io::Result<EndStatus> {
        self.output.phase(Phase::Warming)?;
        let enter = Enter { groups: &self.assignment.enter };
        let mut load = match LoadGroup::start(desc, setting, plan, &enter) {
            Ok(load) => load,
            Err(why) => {
                self.output.warning(format!("{} cannot start: {why}", desc.name))?;
                return Ok(EndStatus::LoadDied);
            }
        };
        if let Some(status) = self.await_warm(&mut load)? {
            return Ok(status);
        }
        let set = self.read_counters(&load);
        let at_ns = self.output.now_ns();
        self.output.line(&Line::Counters(Box::new(CounterRecord { at_ns, counters: set })))?;
        load.begin_span();
        self.output.phase(Phase::Measuring)?;
        let origin_ns = monotonic_ns() + BEGIN_LEAD_NS;
        let freezer = self.assignment.freeze.map(|freeze| freezer(freeze, self.prober.prober.pid));
        let status = match self.prober.prober.begin(origin_ns) {
            Ok(()) => {
                Measure { observer: self, load: &mut load, probe, origin_ns }.all(schedule)?
            }
            Err(_) => EndStatus::Killed,
        };
        drop(freezer);
        let (dose, elapsed_ns, totals) = load.delivered();
        drop(load);
        self.output.phase(Phase::Stopped)?;
        let delivered = Delivered {
            at_ns: self.output.now_ns(),
            unit: desc.dose_unit.to_owned(),
            intended: dose.intended,
            delivered: dose.delivered,
            elapsed_ns,
            totals,
        };
        self.output.line(&Line::Delivered(delivered))?;
        Ok(status)
    }

    /// Waits until the load is warm or may wait no longer; a status if the run ends here.
    fn await_warm(&mut self, load: &mut LoadGroup<'_>) -> io::Result<Option<EndStatus>> {
        let until_ns = monotonic_ns() + self.assignment.spec.timing.warmup_ns;
        loop {
            if load.warm() {
                self.output.phase(Phase::Warm)?;
                return Ok(None);
            }
            if monotonic_ns() >= until_ns {
                self.output.phase(Phase::NotWarm)?;
                return Ok(None);
            }
            let tick_ns = (monotonic_ns() + WARM_TICK_NS).min(until_ns);
            if self.waiter.wait(None, tick_ns) == Woken::Signal {
                if self.waiter.stop_requested() {
                    return Ok(Some(EndStatus::Interrupted));
                }
                if self.load_died(load)? {
                    return Ok(Some(EndStatus::LoadDied));
                }
            }
        }
    }

    /// Looks for workers that ended; the first one is reported as a warning.
    pub(crate) fn load_died(&mut self, load: &mut LoadGroup<'_>) -> io::Result<bool> {
        if self.dead_load.is_some() {
            return Ok(true);
        }
        let Some((mut text, exit)) = load.dead_worker() else { return Ok(false) };
        if exit == Exit::Signal(signals::KILL) && self.oom_kill_count() > self.oom_kills {
            text.push_str(" (the kernel's OOM killer: the load needs more memory than there is)");
        }
        self.output.warning(text.clone())?;
        self.dead_load = Some(text);
        Ok(true)
    }

    /// How often the OOM killer has struck on this machine.
    fn oom_kill_count(&mut self) -> Option<u64> {
        self.counters.machine.read().get("vmstat")?.get("oom_kill").copied()
    }

    /// All counters of this moment, the load's own among them.
    pub(crate) fn read_counters(&mut self, load: &LoadGroup<'_>) -> CounterSet {
        let mut set = self.counters.read();
        let own: BTreeMap<String, u64> = load.counters();
        if !own.is_empty() {
            set.insert("load".to_owned(), own);
        }
        set
    }
}

/// A process that freezes the prober again and again; killed when dropped.
fn freezer(freeze: Freeze, prober: u32) -> Option<Freezer> {
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
    });
    pid.ok().map(|pid| Freezer { pid, prober })
}

struct Freezer {
    pid: u32,
    prober: u32,
}

impl Drop for Freezer {
    fn drop(&mut self) {
        let _ = signal(self.pid, signals::KILL);
        let _ = wait(self.pid, true);
        let _ = signal(self.prober, signals::CONT);
    }
}
