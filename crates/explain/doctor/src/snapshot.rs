//! All counters at one time.

use std::collections::{BTreeMap, BTreeSet};

use model::{CounterSet, Environment};
use serde::{Deserialize, Serialize};

/// Length of a tick of `/proc/PID/stat` and `/proc/stat` in ns: `USER_HZ` is 100 everywhere.
pub const TICK_NS: f64 = 1e7;

/// The group of the processes of a command, in place of their control group, which may have others.
pub const COMMAND: &str = "the command";

/// All counters at one time; unavailable ones are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Time in ns from the start of the recording (monotonic).
    pub at_ns: u64,
    /// Time in ns since boot, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_ns: Option<u64>,
    /// Page size in bytes, if known. A recording has it in its header.
    #[serde(skip)]
    pub page_bytes: Option<u64>,
    /// What was not read, to keep the snapshot cheap.
    #[serde(default, skip_serializing_if = "LeftOut::is_nothing")]
    pub left_out: LeftOut,
    /// The machine's counters: `vmstat`, `stat`, `meminfo`, `psi`, `interrupts`, …
    pub machine: CounterSet,
    /// Counters of control groups (`memcg`, `memcg_psi`, `cpu_cgroup`), by path under their root.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, CounterSet>,
    /// Counters of processes, by process id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<u32, TaskSnapshot>,
}

/// How many control groups and processes a snapshot does not have, although they existed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Control groups that were not read.
    pub groups: u64,
    /// Processes that were not read.
    pub tasks: u64,
    /// Whether the kernel hides processes of other users (`hidepid` of `/proc`), so that their
    /// number is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hides_processes: bool,
}

impl LeftOut {
    /// Whether everything was read.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The size of a page among the facts of a machine, in bytes.
pub(crate) fn page_bytes(environment: &Environment) -> Option<u64> {
    environment.get("page_size_bytes")?.parse().ok()
}

impl Snapshot {
    /// The last of some snapshots in the order of their times, with what it left out as an earlier one
    /// has it: right for levels, which change slowly, and wrong for counters. `None` of none.
    pub fn latest<'a>(all: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        all.into_iter().cloned().reduce(|earlier, mut next| {
            next.add_absent(earlier);
            next
        })
    }

    /// The state at boot, `uptime_ns` earlier: all counters were 0. Processes began later.
    pub fn at_boot(&mut self, uptime_ns: u64) -> Self {
        let zeroed = |set: &CounterSet| {
            let mut set = set.clone();
            set.values_mut().flat_map(BTreeMap::values_mut).for_each(|value| *value = 0);
            set
        };
        self.at_ns = uptime_ns;
        Self {
            at_ns: 0,
            boot_ns: Some(0),
            page_bytes: self.page_bytes,
            left_out: LeftOut::default(),
            machine: zeroed(&self.machine),
            groups: self.groups.iter().map(|(path, set)| (path.clone(), zeroed(set))).collect(),
            tasks: BTreeMap::new(),
        }
    }

    /// Adds ended groups and processes of an earlier snapshot, and what a process that has ended,
    /// but was not waited for, no longer has: its memory and its control group.
    pub fn keep_ended(&mut self, earlier: Self) {
        for (pid, task) in &mut self.tasks {
            if let Some(before) = earlier.tasks.get(pid).filter(|before| before.is_same(task)) {
                task.keep(before);
            }
        }
        self.add_absent(earlier);
    }

    /// Adds the groups and processes of an earlier snapshot that this one does not have.
    fn add_absent(&mut self, mut earlier: Self) {
        earlier.groups.append(&mut self.groups);
        earlier.tasks.append(&mut self.tasks);
        (self.groups, self.tasks) = (earlier.groups, earlier.tasks);
    }
}

impl Snapshot {
    /// Keeps the processes of a command, as one group, and the control groups above them; the
    /// counters of the machine stay.
    pub fn keep_command(&mut self, pids: &BTreeSet<u32>) {
        self.tasks.retain(|pid, _| pids.contains(pid));
        let own: BTreeSet<String> =
            self.tasks.values_mut().filter_map(|task| task.group.replace(COMMAND.into())).collect();
        let is_above = |path: &str, of: &String| {
            of.strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || path.ends_with('/'))
        };
        self.groups.retain(|path, _| own.iter().any(|group| is_above(path, group)));
    }
}

/// The counters of one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskSnapshot {
    /// Its name, as in `/proc/PID/comm`.
    pub name: String,
    /// Its control group, by path under the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// `task_stat`, `task_status`, `schedstat`, `taskstats`, as far as available.
    pub counters: CounterSet,
}

impl TaskSnapshot {
    /// Whether both are the same process, whose number was not reused.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let start = |task: &Self| task.counters.get("task_stat")?.get("starttime_ticks").copied();
        start(self) == start(other)
    }

    /// Whether the process began after boot, in ns; `false` if its start is not known.
    pub(crate) fn began_after(&self, boot_ns: u64) -> bool {
        let start = || self.counters.get("task_stat")?.get("starttime_ticks").copied();
        start().is_some_and(|ticks| ticks.saturating_mul(TICK_NS as u64) > boot_ns)
    }

    fn keep(&mut self, before: &Self) {
        let has_memory = |task: &Self| {
            task.counters.get("task_status").is_some_and(|it| it.contains_key("VmRSS_kb"))
        };
        if has_memory(self) || !has_memory(before) {
            return;
        }
        self.group.clone_from(&before.group);
        for (source, values) in &before.counters {
            let own = self.counters.entry(source.clone()).or_default();
            for (name, value) in values {
                own.entry(name.clone()).or_insert(*value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{snapshot, task};

    #[test]
    fn a_process_that_ended_keeps_its_memory_and_group_and_counts_on() {
        let memory = ("task_status", "VmRSS_kb", 70);
        let mut before = snapshot(0);
        before.tasks.insert(1, task("job", Some("/a"), &[memory, ("task_stat", "minflt", 5)]));
        before.tasks.insert(2, task("job", Some("/a"), &[memory]));
        let mut after = snapshot(9);
        after.tasks.insert(1, task("job", Some("/"), &[("task_stat", "minflt", 8)]));
        let other = [("task_stat", "starttime_ticks", 7)];
        after.tasks.insert(2, task("another", Some("/"), &other));
        after.keep_ended(before);
        let ended = &after.tasks[&1];
        assert_eq!(ended.group.as_deref(), Some("/a"));
        assert_eq!(ended.counters["task_status"]["VmRSS_kb"], 70);
        assert_eq!(ended.counters["task_stat"]["minflt"], 8);
        assert_eq!(after.tasks[&2].group.as_deref(), Some("/"), "its number was reused");
    }

    #[test]
    fn the_latest_reading_of_each_is_that_before_it_was_left_out() {
        let [mut first, mut second] = [snapshot(1), snapshot(2)];
        first.groups.insert("/a".to_owned(), CounterSet::new());
        for (pid, kb) in [(1, 10), (2, 20)] {
            first.tasks.insert(pid, task("job", None, &[("task_status", "VmRSS_kb", kb)]));
        }
        for (pid, kb) in [(2, 21), (3, 30)] {
            second.tasks.insert(pid, task("job", None, &[("task_status", "VmRSS_kb", kb)]));
        }
        let latest = Snapshot::latest([&first, &second]).unwrap();
        assert_eq!((latest.at_ns, latest.groups.len()), (2, 1));
        assert_eq!(latest.tasks.keys().copied().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(latest.tasks[&2], second.tasks[&2]);
        assert_eq!(Snapshot::latest([]), None);
    }

    #[test]
    fn only_the_processes_of_a_command_and_the_groups_above_them_stay() {
        let mut all = snapshot(0);
        for path in ["/", "/a", "/a/b", "/a/bc", "/c"] {
            all.groups.insert(path.to_owned(), CounterSet::new());
        }
        for (pid, group) in [(1, "/a/b"), (2, "/a/b"), (3, "/c")] {
            all.tasks.insert(pid, task("job", Some(group), &[]));
        }
        all.keep_command(&[2, 9].into());
        assert_eq!(all.tasks.keys().collect::<Vec<_>>(), [&2]);
        assert_eq!(all.tasks[&2].group.as_deref(), Some(COMMAND));
        assert_eq!(all.groups.keys().collect::<Vec<_>>(), ["/", "/a", "/a/b"]);
    }
}
