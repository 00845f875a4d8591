//! Who filled the memory in an interval: control groups and processes by the growth of what they use.

use serde::Serialize;

use crate::interval::Change;
use crate::{Interval, Scope};

/// Usage of a control group, by the names of both versions.
const GROUP: [&str; 2] = ["current_bytes", "usage_in_bytes"];
/// Its part in swap.
const GROUP_SWAP: [&str; 2] = ["swap_current_bytes", "total_swap"];
/// Least growth that is listed, in bytes.
const LEAST_BYTES: u64 = 1 << 20;
/// Share of a group's growth from which a group below it is the one that grew.
const BELOW_SHARE: f64 = 0.5;

/// A control group or process whose memory grew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryGrowth {
    /// The group or process.
    pub scope: Scope,
    /// The control group of a process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Memory and swap space at the start, in bytes.
    pub before_bytes: u64,
    /// Memory and swap space at the end, in bytes.
    pub after_bytes: u64,
}

impl MemoryGrowth {
    /// The growth in bytes.
    pub fn grown_bytes(&self) -> u64 {
        self.after_bytes.saturating_sub(self.before_bytes)
    }
}

/// Groups and processes whose memory, with swap space, grew by 1 MiB or more, the largest growth
/// first, groups before processes. A group is not listed for the growth of one below it.
pub fn memory_growth(interval: &Interval<'_>) -> Vec<MemoryGrowth> {
    let groups = interval.groups().filter_map(|(path, change)| {
        growth(Scope::Group(path.to_owned()), None, &change, group_bytes)
    });
    let groups: Vec<MemoryGrowth> = groups.collect();
    let mut grown: Vec<MemoryGrowth> = groups
        .iter()
        .filter(|above| !groups.iter().any(|it| explains(it, above)))
        .cloned()
        .collect();
    grown.sort_by_key(|it| std::cmp::Reverse(it.grown_bytes()));
    let mut processes: Vec<MemoryGrowth> = interval
        .tasks()
        .filter_map(|task| {
            let scope = Scope::Process { pid: task.pid, name: task.name.to_owned() };
            growth(scope, task.group, &task.counters, task_bytes)
        })
        .collect();
    processes.sort_by_key(|it| std::cmp::Reverse(it.grown_bytes()));
    grown.extend(processes);
    grown
}

/// Whether a group is below another and has most of its growth.
fn explains(below: &MemoryGrowth, above: &MemoryGrowth) -> bool {
    let (Scope::Group(path), Scope::Group(parent)) = (&below.scope, &above.scope) else {
        return false;
    };
    let is_below = path.strip_prefix(parent.as_str()).is_some_and(|rest| rest.starts_with('/'));
    is_below && below.grown_bytes() as f64 >= BELOW_SHARE * above.grown_bytes() as f64
}

/// The growth, if both ends are known.
fn growth(
    scope: Scope,
    group: Option<&str>,
    change: &Change<'_>,
    bytes: fn(&Change<'_>) -> Option<f64>,
) -> Option<MemoryGrowth> {
    let after_bytes = bytes(change)? as u64;
    let before_bytes = match change.at_start() {
        Some(before) => bytes(&before)? as u64,
        None => 0,
    };
    let grown = MemoryGrowth { scope, group: group.map(str::to_owned), before_bytes, after_bytes };
    (grown.grown_bytes() >= LEAST_BYTES).then_some(grown)
}

fn group_bytes(change: &Change<'_>) -> Option<f64> {
    let swap = change.level_any("memcg", &GROUP_SWAP).unwrap_or(0.0);
    Some(change.level_any("memcg", &GROUP)? + swap)
}

fn task_bytes(change: &Change<'_>) -> Option<f64> {
    let kb = |name| change.level("task_status", name);
    Some((kb("VmRSS_kb")? + kb("VmSwap_kb").unwrap_or(0.0)) * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Snapshot;
    use crate::sample::{counters, snapshot, task};

    fn at(at_ns: u64, groups: &[(&str, u64)], tasks: &[(u32, u64)]) -> Snapshot {
        let mut taken = snapshot(at_ns);
        for (path, bytes) in groups {
            taken
                .groups
                .insert((*path).to_owned(), counters(&[("memcg", "current_bytes", *bytes)]));
        }
        for (pid, kb) in tasks {
            taken.tasks.insert(*pid, task("job", None, &[("task_status", "VmRSS_kb", *kb)]));
        }
        taken
    }

    #[test]
    fn the_largest_growth_is_first_and_groups_above_it_are_not_named() {
        let mib = 1 << 20;
        let before = at(0, &[("/a", 10 * mib), ("/a/b", mib), ("/c", mib)], &[(1, 1024), (2, 9)]);
        let after =
            at(9, &[("/a", 90 * mib), ("/a/b", 80 * mib), ("/c", 4 * mib)], &[(1, 4096), (2, 9)]);
        let grown = memory_growth(&Interval::new(&before, &after));
        let process = Scope::Process { pid: 1, name: "job".to_owned() };
        let expected = [Scope::Group("/a/b".to_owned()), Scope::Group("/c".to_owned()), process];
        assert_eq!(grown.iter().map(|it| it.scope.clone()).collect::<Vec<_>>(), expected);
        assert_eq!(grown[0].grown_bytes(), 79 * mib);
        assert!(memory_growth(&Interval::new(&after, &before)).is_empty(), "nothing grew");
    }

    #[test]
    fn memory_that_was_not_measured_at_the_start_has_not_grown() {
        let mut before = at(0, &[("/a", 1)], &[]);
        before.groups.insert("/a".to_owned(), counters(&[("memcg", "anon", 1)]));
        let after = at(9, &[("/a", 1 << 30)], &[]);
        assert!(memory_growth(&Interval::new(&before, &after)).is_empty());
    }
}
