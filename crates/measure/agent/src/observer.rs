//! The observer: watches target and load within time limits, reads counters, and writes what all
//! runs share: the header, and the load from its start to its end.

use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::path::Path;

use counters::{Reader, Roots, TaskReader};
use model::units::format_size;
use model::{
    CounterRecord, CounterSet, Delivered, EndStatus, Header, Line, Measure, Phase, PhaseRecord,
    Spec, SubjectSpec, Unavailable,
};
use sys::clock::monotonic_ns;
use sys::process::{Exit, signals};
use workloads::find_load;

use crate::assignment::{AgentError, Assignment};
use crate::load::{LoadGroup, LoadPlan};
use crate::output::Output;
use crate::waiter::{Death, End, Waiter, Woken};
use crate::weight::weigh;

const WARM_TICK_NS: u64 = 20_000_000;
/// The instrument may hold this much of the memory limit, in percent.
const HEAVY_PERCENT: u64 = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
struct OomKills {
    /// OOM kills of the control group if it counts them, else of the machine.
    kills: Option<u64>,
    /// How often the group could reclaim nothing at its limit, or (version 1) reached it.
    at_limit: Option<u64>,
}

impl OomKills {
    fn read(machine: &mut Reader) -> Self {
        let set = machine.read(true);
        let counter = |source: &str, name: &str| set.get(source)?.get(name).copied();
        Self {
            kills: counter("memcg", "events_oom_kill").or_else(|| counter("vmstat", "oom_kill")),
            at_limit: counter("memcg", "events_oom").or_else(|| counter("memcg", "failcnt")),
        }
    }
}

/// Locks this process into memory and, in a guest, raises its priority. Refusals go to `missed`. Where
/// memory is filled on purpose, the OOM killer spares it: the prober is a process of its own, and was
/// started before.
fn become_observer(assignment: &Assignment, missed: &mut Vec<Unavailable>) {
    if let Err(error) = sys::memory::lock_all() {
        missed.push(Unavailable {
            capability: "locked observer".to_owned(),
            reason: format!("mlockall: {error}: the observer itself may be swapped out"),
        });
    }
    let spec = &assignment.spec;
    let fills_memory = find_load(&spec.load.name)
        .is_some_and(|load| matches!(load.work, workloads::Work::Exhaustion(_)));
    if fills_memory && matches!(spec.measure, Measure::Probe(_)) {
        // Without the right to it the observer may be killed, which is the end of the run.
        let _ = std::fs::write("/proc/self/oom_score_adj", "-1000");
    }
    if matches!(spec.subject, SubjectSpec::Vm(_))
        && let Err(error) = sys::process::become_urgent()
    {
        missed.push(Unavailable {
            capability: "urgent observer".to_owned(),
            reason: format!("sched_setscheduler: {error}: the load may hold up the observer"),
        });
    }
}

pub(crate) struct Observer<'a, W> {
    pub(crate) assignment: &'a Assignment,
    pub(crate) output: Output<W>,
    pub(crate) waiter: Waiter,
    /// Unavailable capabilities, for the header.
    pub(crate) missed: Vec<Unavailable>,
    /// All counters but those of prober and load.
    machine: Reader,
    /// The prober's counters; a job has none.
    task: Option<TaskReader>,
    load_died: bool,
    /// OOM kills before this run, or already attributed.
    oom_kills: OomKills,
}

impl<'a, W: Write> Observer<'a, W> {
    /// Observes new processes. `missed` are their unavailable capabilities.
    pub(crate) fn new(
        assignment: &'a Assignment,
        output: Output<W>,
        waiter: Waiter,
        prober: Option<u32>,
        missed: Vec<Unavailable>,
    ) -> Self {
        let mut missed = [assignment.missed.clone(), missed].concat();
        become_observer(assignment, &mut missed);
        let (mut machine, machine_missed) = Reader::open(&assignment.sources);
        missed.extend(machine_missed);
        let task = prober.map(|pid| {
            let (task, task_missed) = TaskReader::open(Path::new("/proc"), pid);
            missed.extend(task_missed);
            task
        });
        let oom_kills = OomKills::read(&mut machine);
        Self { assignment, output, waiter, missed, machine, task, load_died: false, oom_kills }
    }

    /// Writes the header, and notes where the subject forced a choice.
    pub(crate) fn write_header(
        &mut self,
        load: &LoadPlan,
        measure: Measure,
        notes: &[String],
    ) -> io::Result<()> {
        let assignment = self.assignment;
        let roots = Roots::system(Some(assignment.work_dir.clone()));
        let (mut environment, facts_missed) = counters::environment(&roots);
        environment.extend(assignment.environment.clone());
        let missed = self.missed.drain(..).chain(facts_missed).chain(load.missed()).collect();
        let asked = &assignment.spec;
        self.output.line(&Line::Header(Box::new(Header {
            schema: asked.schema(),
            run_id: assignment.run_id.clone(),
            thrashlab: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_ns: self.output.started_unix_ns(),
            spec: Spec { load: load.spec(&asked.load), measure, ..asked.clone() },
            environment,
            origins: assignment.origins.clone(),
            missed,
        })))?;
        let mut notes = load.plan.notes.iter().chain(notes);
        notes.try_for_each(|note| self.output.warning(note))
    }

    /// Runs `measure` under the warm load, with the time of its first line in ns of the run.
    pub(crate) fn under_load(
        &mut self,
        plan: &LoadPlan,
        measure: impl FnOnce(&mut Self, &mut LoadGroup<'_>, u64) -> io::Result<EndStatus>,
    ) -> io::Result<EndStatus> {
        self.output.phase(Phase::Warming)?;
        let mut load = match LoadGroup::start(plan, &self.assignment.enter) {
            Ok(load) => load,
            Err(why) => {
                self.output.death(format!("{} cannot start: {why}", plan.workload.name))?;
                return Ok(EndStatus::LoadDied);
            }
        };
        if let Err(end) = self.await_warm(&mut load) {
            return self.status(Err(end));
        }
        self.write_counters(&mut load)?;
        load.begin_span();
        let measuring_ns = self.output.phase(Phase::Measuring)?;
        let status = measure(self, &mut load, measuring_ns)?;
        let (volume, elapsed_ns, totals) = load.delivered();
        drop(load);
        self.output.phase(Phase::Stopped)?;
        self.output.line(&Line::Delivered(Delivered {
            at_ns: self.output.now_ns(),
            unit: plan.workload.volume_unit.to_owned(),
            intended: volume.intended,
            delivered: volume.delivered,
            elapsed_ns,
            totals,
        }))?;
        Ok(status)
    }

    fn await_warm(&mut self, load: &mut LoadGroup<'_>) -> Result<(), End> {
        let until_ns = monotonic_ns() + self.assignment.spec.timing.warmup_ns;
        let phase = loop {
            if load.warm() {
                break Phase::Warm;
            }
            if monotonic_ns() >= until_ns {
                break Phase::NotWarm;
            }
            self.wait(load, None, (monotonic_ns() + WARM_TICK_NS).min(until_ns))?;
        };
        self.warm_up_ended(phase)?;
        Ok(())
    }

    /// Writes the end of the warm-up with what the instrument weighs, and warns where that is so much
    /// that it is measured too.
    fn warm_up_ended(&mut self, phase: Phase) -> io::Result<()> {
        let subject = &self.assignment.spec.subject;
        let instrument = weigh(subject);
        let bytes = instrument.as_ref().map_or(0, |weight| weight.anonymous_bytes);
        let (memory_bytes, is_sandbox) = (subject.memory_bytes(), subject.sandbox().is_some());
        let at_ns = self.output.now_ns();
        self.output.line(&Line::Phase(PhaseRecord { at_ns, phase, instrument }))?;
        if bytes.saturating_mul(100) <= memory_bytes.saturating_mul(HEAVY_PERCENT) {
            return Ok(());
        }
        self.output.warning(format!(
            "the instrument's own processes hold {} of the {} of this {}, so results show its \
             weight too: give it more memory",
            format_size(bytes),
            format_size(memory_bytes),
            if is_sandbox { "sandbox" } else { "machine" }
        ))
    }

    pub(crate) fn wait(
        &mut self,
        load: &mut LoadGroup<'_>,
        fd: Option<BorrowedFd<'_>>,
        until_ns: u64,
    ) -> Result<Woken, End> {
        let woken = self.waiter.wait(fd, until_ns);
        if woken == Woken::Signal {
            self.check(load)?;
        }
        Ok(woken)
    }

    /// Fails on a stop request, or when the load died.
    pub(crate) fn check(&mut self, load: &mut LoadGroup<'_>) -> Result<(), End> {
        if self.waiter.stop_requested() {
            return Err(End::Interrupted);
        }
        if self.load_died(load)? { Err(End::LoadDied) } else { Ok(()) }
    }

    /// Reports the first worker that ended as a death.
    pub(crate) fn load_died(&mut self, load: &mut LoadGroup<'_>) -> io::Result<bool> {
        if self.load_died {
            return Ok(true);
        }
        let Some((mut text, exit)) = load.dead_worker() else { return Ok(false) };
        if self.waiter.is_stopped_too(exit) {
            return Ok(false);
        }
        if exit == Exit::Signal(signals::KILL) && self.attribute_oom_kill().is_some() {
            text.push_str(" (the kernel's OOM killer: the load needs more memory than there is)");
        }
        self.output.death(text)?;
        self.load_died = true;
        Ok(true)
    }

    /// The status of a run that ended; writes the death of a measured process.
    pub(crate) fn status(&mut self, end: Result<(), End>) -> io::Result<EndStatus> {
        match end {
            Ok(()) => Ok(EndStatus::Complete),
            Err(End::Timeout) => Ok(EndStatus::Timeout),
            Err(End::Interrupted) => Ok(EndStatus::Interrupted),
            Err(End::LoadDied) => Ok(EndStatus::LoadDied),
            Err(End::Died(death)) if self.was_stopped(&death) => Ok(EndStatus::Interrupted),
            Err(End::Died(death)) => {
                let (status, cause) = self.death_cause(&death);
                self.output.death(cause)?;
                Ok(status)
            }
            Err(End::Gone | End::Failed(_)) => Ok(EndStatus::Killed),
            Err(End::CommandFailed(why)) => {
                let (status, why) = self.command_failed(why);
                self.output.death(why)?;
                Ok(status)
            }
            Err(End::Io(error)) => Err(error),
        }
    }

    /// Ends a run whose processes did not become ready: as stopped, or with the error `refused`.
    pub(crate) fn not_ready(
        &mut self,
        refused: fn(String) -> AgentError,
        end: End,
    ) -> Result<EndStatus, AgentError> {
        let (status, why) = match end {
            End::Failed(why) => {
                self.output.warning(refused(why.clone()).to_string())?;
                (EndStatus::Killed, why)
            }
            End::CommandFailed(why) => {
                let (status, why) = self.command_failed(why);
                self.output.death(why.clone())?;
                (status, why)
            }
            End::Died(death) if !self.was_stopped(&death) => {
                let (status, cause) = self.death_cause(&death);
                self.output.death(cause.clone())?;
                (status, cause)
            }
            end => return Ok(self.status(Err(end))?),
        };
        self.output.end(status)?;
        Err(refused(why))
    }

    /// The status of a run whose command, or its service, failed, and why.
    pub(crate) fn command_failed(&mut self, why: String) -> (EndStatus, String) {
        match self.attribute_oom_kill() {
            Some(limit) => {
                let killed = out_of_memory("a process of it", &limit);
                (EndStatus::OutOfMemory, format!("{why}; {killed}"))
            }
            None => (EndStatus::Failed, why),
        }
    }

    /// Whether a death is part of a stop of all processes.
    fn was_stopped(&self, death: &Death) -> bool {
        death.exit.is_some_and(|exit| self.waiter.is_stopped_too(exit))
    }

    /// The cause of death of a measured process, and the status of the run.
    fn death_cause(&mut self, death: &Death) -> (EndStatus, String) {
        let Death { who, how, exit } = death;
        let killed = *exit == Some(Exit::Signal(signals::KILL));
        match killed.then(|| self.attribute_oom_kill()).flatten() {
            Some(limit) => (EndStatus::OutOfMemory, out_of_memory(who, &limit)),
            None => (EndStatus::Killed, format!("{who} died: {how}")),
        }
    }

    /// Which memory was too small, if there was a new OOM kill.
    pub(crate) fn attribute_oom_kill(&mut self) -> Option<String> {
        let now = OomKills::read(&mut self.machine);
        let before = std::mem::replace(&mut self.oom_kills, now);
        if now.kills <= before.kills {
            return None;
        }
        let subject = &self.assignment.spec.subject;
        Some(match (subject, subject.sandbox()) {
            (_, Some(limits)) if now.at_limit > before.at_limit => {
                format!("the sandbox's limit of {}", format_size(limits.memory_bytes))
            }
            (SubjectSpec::Group(group), _) if now.at_limit > before.at_limit => {
                format!("the limit of {}", group.name)
            }
            _ => "the machine's memory".to_owned(),
        })
    }

    /// The counters of machine, prober and load; single samples do not need `interrupts`.
    pub(crate) fn read_counters(
        &mut self,
        load: &mut LoadGroup<'_>,
        with_long: bool,
    ) -> CounterSet {
        let mut set = self.machine.read(with_long);
        set.extend(self.task.as_mut().map(TaskReader::read).unwrap_or_default());
        set.extend(load.tasks.read());
        let own = load.counters();
        if !own.is_empty() {
            set.insert("load".into(), own);
        }
        set
    }

    /// Writes all counters, outside any sample.
    pub(crate) fn write_counters(&mut self, load: &mut LoadGroup<'_>) -> io::Result<()> {
        let counters = self.read_counters(load, true);
        let at_ns = self.output.now_ns();
        self.output.line(&Line::Counters(Box::new(CounterRecord { at_ns, counters })))
    }
}

/// The cause of death of a process that the kernel killed at a limit of memory.
pub(crate) fn out_of_memory(who: &str, limit: &str) -> String {
    format!("the kernel killed {who} for lack of memory (OOM killer): {limit} is too small")
}
