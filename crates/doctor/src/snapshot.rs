//! All counters at one time.

use std::collections::BTreeMap;

use model::{CounterSet, Environment};
use serde::{Deserialize, Serialize};

/// All counters at one time; unavailable ones are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Time in ns from the start of the recording (monotonic).
    pub at_ns: u64,
    /// Page size in bytes, if known. A recording has it in its header.
    #[serde(skip)]
    pub page_bytes: Option<u64>,
    /// The machine's counters: `vmstat`, `stat`, `meminfo`, `psi`, `interrupts`, …
    pub machine: CounterSet,
    /// Counters of control groups (`memcg`, `memcg_psi`, `cpu_cgroup`), by path under their root.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, CounterSet>,
    /// Counters of processes, by process id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<u32, TaskSnapshot>,
}

/// The size of a page among the facts of a machine, in bytes.
pub(crate) fn page_bytes(environment: &Environment) -> Option<u64> {
    environment.get("page_size_bytes")?.parse().ok()
}

impl Snapshot {
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
            page_bytes: self.page_bytes,
            machine: zeroed(&self.machine),
            groups: self.groups.iter().map(|(path, set)| (path.clone(), zeroed(set))).collect(),
            tasks: BTreeMap::new(),
        }
    }

    /// Adds ended groups and processes of an earlier snapshot.
    pub fn keep_ended(&mut self, mut earlier: Self) {
        earlier.groups.append(&mut self.groups);
        earlier.tasks.append(&mut self.tasks);
        (self.groups, self.tasks) = (earlier.groups, earlier.tasks);
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
