//! The observer: keeps time limits, watches prober and load, reads counters.

use std::io::{self, Write};
use std::path::Path;

use counters::{Reader, TaskReader};
use model::units::format_size;
use model::{CounterSet, EndStatus, Missed, Phase};
use sys::clock::monotonic_ns;
use sys::process::{Exit, signals};

use crate::assignment::Assignment;
use crate::load_group::LoadGroup;
use crate::output::Output;
use crate::waiter::{Waiter, Woken};

/// How often the load is asked whether it is warm, in ns.
const WARM_TICK_NS: u64 = 20_000_000;

/// All counters but those of the prober's own usage and of the load.
pub(crate) struct Counters {
    machine: Reader,
    /// Those of the prober; a job has no process that stands for it.
    task: Option<TaskReader>,
}

impl Counters {
    pub(crate) fn open(
        assignment: &Assignment,
        prober: Option<u32>,
        missed: &mut Vec<Missed>,
    ) -> Self {
        let (machine, machine_missed) = Reader::open(&assignment.sources);
        missed.extend(machine_missed);
        let task = prober.map(|pid| {
            let (task, task_missed) = TaskReader::open(Path::new("/proc"), pid);
            missed.extend(task_missed);
            task
        });
        Self { machine, task }
    }
}

/// The death of a process whose work is measured: none of them ends by itself.
pub(crate) struct Death {
    /// Whose, such as `the probe`.
    who: String,
    how: String,
    /// How its process ended, where that is known.
    exit: Option<Exit>,
}

impl Death {
    pub(crate) fn new(who: impl Into<String>, how: impl Into<String>, exit: Option<Exit>) -> Self {
        Self { who: who.into(), how: how.into(), exit }
    }

    /// A death of which no more is known than how the process ended.
    pub(crate) fn from_exit(who: impl Into<String>, exit: Exit) -> Self {
        let how = match exit {
            Exit::Signal(number) => format!("ended by signal {number}"),
            Exit::Code(code) => format!("ended with code {code}"),
        };
        Self::new(who, how, Some(exit))
    }
}

/// Why the processes whose work is measured did not become ready.
pub(crate) enum NotReady {
    /// There is a request to stop.
    Stopped,
    Failed(String),
    /// A process ended before it was ready.
    Died(Death),
}

/// Kills for want of memory.
#[derive(Clone, Copy, PartialEq, Eq)]
struct OomKills {
    /// In the control group if it counts them, else on the machine.
    kills: Option<u64>,
    /// How often the control group was at its limit and nothing could be reclaimed; with version 1
    /// how often it was at its limit.
    at_limit: Option<u64>,
}

/// The state of a run under way.
pub(crate) struct Observer<'a, W> {
    pub(crate) assignment: &'a Assignment,
    pub(crate) output: Output<W>,
    pub(crate) waiter: Waiter,
    pub(crate) counters: Counters,
    /// Whether the load died.
    load_died: bool,
    /// Kills for want of memory that are before this run or have been attributed.
    oom_kills: OomKills,
}

impl<'a, W: Write> Observer<'a, W> {
    /// An observer of what was just started.
    pub(crate) fn new(
        assignment: &'a Assignment,
        output: Output<W>,
        waiter: Waiter,
        counters: Counters,
    ) -> Self {
        let oom_kills = OomKills { kills: None, at_limit: None };
        let mut observer =
            Self { assignment, output, waiter, counters, load_died: false, oom_kills };
        observer.oom_kills = observer.oom_kills_now();
        observer
    }

    /// Waits until the load is warm or may wait no longer; a status if the run ends here.
    pub(crate) fn await_warm(&mut self, load: &mut LoadGroup<'_>) -> io::Result<Option<EndStatus>> {
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

    /// Looks for workers that ended; the first one is reported as a death.
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

    /// Writes what a process died of whose work is measured; the status of the run.
    pub(crate) fn measured_died(&mut self, death: &Death) -> io::Result<EndStatus> {
        if self.was_stopped(death) {
            return Ok(EndStatus::Interrupted);
        }
        let (status, cause) = self.death_cause(death);
        self.output.death(cause)?;
        Ok(status)
    }

    /// The status of a run whose processes did not become ready because it is to stop. Else writes
    /// why they did not, and the end of the run.
    ///
    /// # Errors
    /// When a line cannot be written, or with the reason why `what` cannot start.
    pub(crate) fn not_ready(
        &mut self,
        what: &str,
        why: NotReady,
    ) -> io::Result<Result<EndStatus, String>> {
        let (status, why) = match why {
            NotReady::Stopped => return Ok(Ok(EndStatus::Interrupted)),
            NotReady::Failed(why) => {
                self.output.warning(format!("{what} cannot start: {why}"))?;
                (EndStatus::Killed, why)
            }
            NotReady::Died(death) if self.was_stopped(&death) => {
                return Ok(Ok(EndStatus::Interrupted));
            }
            NotReady::Died(death) => {
                let (status, cause) = self.death_cause(&death);
                self.output.death(cause.clone())?;
                (status, cause)
            }
        };
        self.output.end(status)?;
        Ok(Err(why))
    }

    /// Whether a death is part of a stop of all processes.
    fn was_stopped(&self, death: &Death) -> bool {
        death.exit.is_some_and(|exit| self.waiter.is_stopped_too(exit))
    }

    /// What a process died of whose work is measured, and the status of the run.
    fn death_cause(&mut self, death: &Death) -> (EndStatus, String) {
        let Death { who, how, exit } = death;
        let killed = *exit == Some(Exit::Signal(signals::KILL));
        match killed.then(|| self.attribute_oom_kill()).flatten() {
            Some(limit) => {
                let cause = format!(
                    "the kernel killed {who} for want of memory (OOM killer): {limit} is too little"
                );
                (EndStatus::OutOfMemory, cause)
            }
            None => (EndStatus::Killed, format!("{who} died: {how}")),
        }
    }

    /// Whether the OOM killer has struck since the last death that was attributed to it, and which
    /// memory was too little.
    fn attribute_oom_kill(&mut self) -> Option<String> {
        let now = self.oom_kills_now();
        let before = std::mem::replace(&mut self.oom_kills, now);
        if now.kills <= before.kills {
            return None;
        }
        Some(match self.assignment.spec.subject.sandbox() {
            Some(limits) if now.at_limit > before.at_limit => {
                format!("the sandbox's limit of {}", format_size(limits.memory_bytes))
            }
            _ => "the machine's memory".to_owned(),
        })
    }

    fn oom_kills_now(&mut self) -> OomKills {
        let set = self.counters.machine.read();
        let counter = |source: &str, name: &str| set.get(source)?.get(name).copied();
        OomKills {
            kills: counter("memcg", "events_oom_kill").or_else(|| counter("vmstat", "oom_kill")),
            at_limit: counter("memcg", "events_oom").or_else(|| counter("memcg", "failcnt")),
        }
    }

    /// All counters as they are now, the load's own among them.
    pub(crate) fn read_counters(&mut self, load: &mut LoadGroup<'_>) -> CounterSet {
        let set = self.counters.machine.read();
        self.with_own(set, load)
    }

    /// The same before a sample: without `interrupts`, which no reading of a single sample needs.
    pub(crate) fn read_counters_before(&mut self, load: &mut LoadGroup<'_>) -> CounterSet {
        let set = self.counters.machine.read_short();
        self.with_own(set, load)
    }

    /// Adds the counters of the prober and of the load.
    fn with_own(&mut self, mut set: CounterSet, load: &mut LoadGroup<'_>) -> CounterSet {
        set.extend(self.counters.task.as_mut().map(TaskReader::read).unwrap_or_default());
        set.extend(load.task_counters());
        let own = load.counters();
        if !own.is_empty() {
            set.insert("load".into(), own);
        }
        set
    }
}
