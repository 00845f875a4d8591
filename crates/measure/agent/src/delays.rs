//! What the kernel counts while a process of the run issues a command: what delays all its
//! processes, where the kernel permits it, and what its sandbox uses and loses.

use std::fs;
use std::path::{Path, PathBuf};

use counters::{EndedTasks, Reader, Sources, parse};
use model::{ACTIVE_PERMILLE, CounterSet, Values};
use sys::command_counters::CommandCounters;
use sys::process::usage;

/// The sandbox's counters that grow while its processes are delayed.
const OF_GROUP: &str = "cpu_cgroup";
/// Time from one look at the processes that ended to the next in ns: rare enough to disturb
/// nothing, and before the kernel's room for reports is full.
pub(crate) const LOOK_EVERY_NS: u64 = 100_000_000;

/// What was counted while a command ran.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// What delayed it.
    pub(crate) delays: CounterSet,
    /// How many processes of its sandbox the kernel killed for lack of memory.
    pub(crate) killed_for_memory: u64,
    /// CPU time of all processes of its sandbox, and the part of it in user mode, in ns; `None`
    /// unless the sandbox is the command's alone.
    pub(crate) cpu_ns: Option<[u64; 2]>,
    /// What the CPU and the kernel counted for its processes that have ended, by name, and of what was not
    /// counted all the time the part of the time, in thousandths.
    pub(crate) counts: Values,
}

/// Counters of one command after the other.
pub(crate) struct Delays {
    ended: Option<EndedTasks>,
    group: Reader,
    before: CounterSet,
    proc_root: PathBuf,
    /// The file of the sandbox that counts OOM kills, and their number before the command.
    kills: Option<(PathBuf, u64)>,
    /// CPU time of this process, which is in the sandbox, before the command, in ns.
    own_cpu_ns: u64,
    is_alone: bool,
    counters: Counters,
}

/// Counters of the CPU and the kernel for one command. They are opened just before it, so that nothing else
/// that this process starts is counted.
enum Counters {
    Wanted,
    Open(CommandCounters),
    /// Refused, or not wanted.
    None,
}

impl Counters {
    fn begin(&mut self) {
        if !matches!(self, Self::None) {
            *self = CommandCounters::open().map_or(Self::None, Self::Open);
        }
    }

    /// What was counted, and nothing from here on.
    fn end(&mut self) -> Values {
        let Self::Open(counters) = std::mem::replace(self, Self::Wanted) else {
            *self = Self::None;
            return Values::new();
        };
        let mut counts = Values::new();
        for reading in counters.read() {
            let Some((count, active)) = reading.estimate() else { continue };
            counts.insert(reading.name.into(), count);
            if active < 1.0 {
                let name = format!("{}{ACTIVE_PERMILLE}", reading.name);
                counts.insert(name.into(), (active * 1000.0) as u64);
            }
        }
        counts
    }
}

impl Delays {
    /// Nothing else than commands runs in the sandbox if they are alone. What the kernel does not
    /// permit is absent from the counters.
    ///
    /// With `counts` there are counters of the CPU, too.
    pub(crate) fn open(sources: &Sources, is_alone: bool, counts: bool) -> Self {
        // The sizes of its memory are not needed, and long to read.
        let group = Sources { cgroup_v1_memory_dir: None, ..sources.clone() };
        Self {
            ended: EndedTasks::open().ok(),
            group: Reader::open_group(&group).0,
            before: CounterSet::new(),
            proc_root: sources.proc_root.clone(),
            kills: kills_file(sources).map(|path| (path, 0)),
            own_cpu_ns: 0,
            is_alone,
            counters: if counts { Counters::Wanted } else { Counters::None },
        }
    }

    /// Whether [`Self::look`] must be called while the command runs.
    pub(crate) fn must_look(&self) -> bool {
        self.ended.is_some()
    }

    /// Just before a command.
    pub(crate) fn begin(&mut self) {
        if let Some((path, before)) = &mut self.kills {
            *before = kills(path).unwrap_or(0);
        }
        self.own_cpu_ns = usage().cpu_ns();
        self.before = self.group.read(false);
        if let Some(ended) = &mut self.ended {
            ended.forget();
        }
        self.counters.begin();
    }

    /// While it runs, every [`LOOK_EVERY_NS`].
    pub(crate) fn look(&mut self) {
        if let Some(ended) = &mut self.ended {
            ended.read();
        }
    }

    /// After it ended, before it is reaped: what was counted from its beginning.
    pub(crate) fn end(&mut self, pid: u32) -> Counted {
        let counts = self.counters.end();
        let after = self.group.read(false);
        Counted {
            counts,
            delays: self.delays(pid, &after),
            killed_for_memory: self.killed_for_memory(),
            cpu_ns: self.is_alone.then(|| self.cpu_ns(&after)).flatten(),
        }
    }

    /// How many processes of the sandbox were killed for lack of memory since the beginning.
    pub(crate) fn killed_for_memory(&self) -> u64 {
        let grown =
            self.kills.as_ref().and_then(|(path, before)| kills(path)?.checked_sub(*before));
        grown.unwrap_or(0)
    }

    fn cpu_ns(&self, after: &CounterSet) -> Option<[u64; 2]> {
        let grown = |name: &str| {
            let value = |set: &CounterSet| set.get(OF_GROUP)?.get(name).copied();
            value(after)?.checked_sub(value(&self.before)?)
        };
        let of_v2 = |name: &str| grown(name).map(|us| us.saturating_mul(1000));
        let all_ns = grown("usage_ns").or_else(|| of_v2("usage_usec"))?;
        let user_ns = grown("usage_user_ns").or_else(|| of_v2("user_usec"))?;
        let own_ns = usage().cpu_ns().saturating_sub(self.own_cpu_ns);
        Some([all_ns.saturating_sub(own_ns), user_ns.min(all_ns)])
    }

    fn delays(&mut self, pid: u32, after: &CounterSet) -> CounterSet {
        let mut set = CounterSet::new();
        match self.ended.as_mut() {
            Some(ended) => {
                let delays = ended.below(std::process::id());
                set.extend(delays.map(|delays| ("taskstats".into(), delays)));
            }
            None => {
                let path = self.proc_root.join(format!("{pid}/schedstat"));
                let text = fs::read_to_string(path).ok();
                let times = text.and_then(|text| parse::schedstat(&text).ok());
                set.extend(times.map(|times| ("schedstat".into(), times.into_iter().collect())));
            }
        }
        if let Some((before, after)) = self.before.get(OF_GROUP).zip(after.get(OF_GROUP)) {
            let grown = after.iter().filter_map(|(name, value)| {
                Some((name.clone(), value.checked_sub(*before.get(name)?)?))
            });
            let grown: Values = grown.filter(|(name, _)| name.contains("throttled")).collect();
            if !grown.is_empty() {
                set.insert(OF_GROUP.into(), grown);
            }
        }
        set
    }
}

/// The file of the sandbox that counts OOM kills, in either version of control groups.
fn kills_file(sources: &Sources) -> Option<PathBuf> {
    let of_v1 = sources.cgroup_v1_memory_dir.as_ref().map(|dir| dir.join("memory.oom_control"));
    of_v1.or_else(|| sources.cgroup_v2_dir.as_ref().map(|dir| dir.join("memory.events")))
}

fn kills(path: &Path) -> Option<u64> {
    let pairs = parse::flat_keyed(&fs::read_to_string(path).ok()?).ok()?;
    pairs.into_iter().find(|(name, _)| &**name == "oom_kill").map(|(_, count)| count)
}
