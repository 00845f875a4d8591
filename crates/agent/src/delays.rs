//! What delays a command that a process of the run issues: of all its processes, where the kernel
//! permits it, and of its sandbox.

use std::fs;
use std::path::PathBuf;

use counters::{EndedTasks, Reader, Sources, parse};
use model::{CounterSet, Values};

/// The sandbox's counters that grow while its processes are delayed.
const OF_GROUP: &str = "cpu_cgroup";
/// Time from one look at the processes that ended to the next in ns: rare enough to disturb
/// nothing, and before the kernel's room for reports is full.
pub(crate) const LOOK_EVERY_NS: u64 = 100_000_000;

/// Counters of the delays of one command after the other.
pub(crate) struct Delays {
    ended: Option<EndedTasks>,
    group: Reader,
    before: CounterSet,
    proc_root: PathBuf,
}

impl Delays {
    /// What the kernel does not permit is absent from the counters.
    pub(crate) fn open(sources: &Sources) -> Self {
        // The sizes of its memory are not needed, and long to read.
        let group = Sources { cgroup_v1_memory_dir: None, ..sources.clone() };
        Self {
            ended: EndedTasks::open().ok(),
            group: Reader::open_group(&group).0,
            before: CounterSet::new(),
            proc_root: sources.proc_root.clone(),
        }
    }

    /// Whether [`Self::look`] must be called while the command runs.
    pub(crate) fn must_look(&self) -> bool {
        self.ended.is_some()
    }

    /// Just before a command.
    pub(crate) fn begin(&mut self) {
        self.before = self.group.read(false);
        if let Some(ended) = &mut self.ended {
            ended.forget();
        }
    }

    /// While it runs, every [`LOOK_EVERY_NS`].
    pub(crate) fn look(&mut self) {
        if let Some(ended) = &mut self.ended {
            ended.read();
        }
    }

    /// After it ended, before it is reaped: its counters from its beginning.
    pub(crate) fn end(&mut self, pid: u32) -> CounterSet {
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
        let after = self.group.read(false);
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
