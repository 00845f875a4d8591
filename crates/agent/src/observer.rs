//! The observer: keeps time limits, watches prober and load, reads counters.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use counters::{Reader, TaskReader};
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

    /// Reads them all.
    pub(crate) fn read(&mut self) -> CounterSet {
        let mut set = self.machine.read();
        set.extend(self.task.as_mut().map_or_else(CounterSet::new, TaskReader::read));
        set
    }
}

/// The state of a run under way.
pub(crate) struct Observer<'a, W> {
    pub(crate) assignment: &'a Assignment,
    pub(crate) output: Output<W>,
    pub(crate) waiter: Waiter,
    pub(crate) counters: Counters,
    /// Why the load died, if it did.
    pub(crate) dead_load: Option<String>,
    /// Kills of the OOM killer on this machine before the load was started.
    oom_kills: Option<u64>,
}

impl<'a, W: Write> Observer<'a, W> {
    /// An observer of what was just started.
    pub(crate) fn new(
        assignment: &'a Assignment,
        output: Output<W>,
        waiter: Waiter,
        counters: Counters,
    ) -> Self {
        let (dead_load, oom_kills) = (None, None);
        let mut observer = Self { assignment, output, waiter, counters, dead_load, oom_kills };
        observer.oom_kills = observer.oom_kill_count();
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

    /// Looks for workers that ended; the first one is reported as a warning.
    pub(crate) fn load_died(&mut self, load: &mut LoadGroup<'_>) -> io::Result<bool> {
        if self.dead_load.is_some() {
            return Ok(true);
        }
        let Some((mut text, exit)) = load.dead_worker() else { return Ok(false) };
        if exit == Exit::Signal(signals::KILL) && self.oom_struck() {
            text.push_str(" (the kernel's OOM killer: the load needs more memory than there is)");
        }
        self.output.warning(text.clone())?;
        self.dead_load = Some(text);
        Ok(true)
    }

    /// Whether the OOM killer has struck since what is observed was started.
    pub(crate) fn oom_struck(&mut self) -> bool {
        self.oom_kill_count() > self.oom_kills
    }

    /// How often the OOM killer has struck on this machine.
    fn oom_kill_count(&mut self) -> Option<u64> {
        self.counters.machine.read().get("vmstat")?.get("oom_kill").copied()
    }

    /// All counters of this moment, the load's own among them.
    pub(crate) fn read_counters(&mut self, load: &mut LoadGroup<'_>) -> CounterSet {
        let mut set = self.counters.read();
        set.extend(load.task_counters());
        let own: BTreeMap<String, u64> = load.counters();
        if !own.is_empty() {
            set.insert("load".to_owned(), own);
        }
        set
    }
}
