//! Raw kernel counters as read: never rates, never differences.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Raw counters, grouped by the source that they were read from.
///
/// Outer key: the source (`vmstat`, `meminfo`, `stat`, `psi`, `rusage`, `schedstat`, `taskstats`,
/// `memcg`, `memcg_psi`, `cpu_cgroup`, `load`). Inner key: the counter's name as the kernel spells
/// it, with a unit last where the kernel's own name has none (`MemFree_kb`, `memory_some_us`).
/// A counter that cannot be read is absent; a source that cannot be read is absent as a whole and
/// stands with its reason in [`Missed`].
pub type CounterSet = BTreeMap<String, BTreeMap<String, u64>>;

/// Something that this run could not have, with the reason; listed once, in the header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// What is missing: a counter source, a privilege or a kernel feature.
    pub capability: String,
    /// Why, in words that name the path or call that failed.
    pub reason: String,
}
