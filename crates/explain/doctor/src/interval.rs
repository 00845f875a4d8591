//! Two snapshots, and the changes between them.

use model::CounterSet;

pub(crate) use crate::snapshot::TICK_NS;
use crate::{LeftOut, LostTime, Snapshot, TaskSnapshot};

/// Two snapshots of one machine.
#[derive(Clone, Copy, Debug)]
pub struct Interval<'a> {
    before: &'a Snapshot,
    after: &'a Snapshot,
    is_without_tasks: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'a> {
    pub(crate) pid: u32,
    pub(crate) name: &'a str,
    pub(crate) group: Option<&'a str>,
    pub(crate) counters: Change<'a>,
}

impl<'a> Interval<'a> {
    /// The time between two snapshots, the earlier one first.
    pub fn new(before: &'a Snapshot, after: &'a Snapshot) -> Self {
        Self { before, after, is_without_tasks: false }
    }

    /// This interval with all processes hidden, as a machine without any shows it.
    pub(crate) fn without_tasks(self) -> Self {
        Self { is_without_tasks: true, ..self }
    }

    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.after.at_ns.saturating_sub(self.before.at_ns)
    }

    /// Its length in seconds; never 0, so that it can divide.
    pub(crate) fn seconds(&self) -> f64 {
        self.elapsed_ns().max(1) as f64 / 1e9
    }

    /// The machine's page size in bytes; 4096 if unknown.
    pub(crate) fn page_bytes(&self) -> u64 {
        let is_page = |bytes: &u64| bytes.is_power_of_two() && (1 << 10..=1 << 30).contains(bytes);
        self.after.page_bytes.filter(is_page).unwrap_or(4096)
    }

    pub(crate) fn machine(&self) -> Change<'a> {
        self.change(Some(&self.before.machine), &self.after.machine)
    }

    pub(crate) fn vmstat(&self, name: &str) -> Option<f64> {
        self.machine().grown("vmstat", name)
    }

    /// How much was not read at either end.
    pub(crate) fn left_out(&self) -> LeftOut {
        let (before, after) = (self.before.left_out, self.after.left_out);
        LeftOut {
            groups: before.groups.max(after.groups),
            tasks: before.tasks.max(after.tasks),
            hides_processes: before.hides_processes || after.hides_processes,
        }
    }

    /// The change of each control group, by path; a new one began at 0. A snapshot without any
    /// group did not read them, and one that left some out does not show which are new.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (&'a str, Change<'a>)> {
        let interval = *self;
        let before = &interval.before.groups;
        let is_whole = interval.before.left_out.groups == 0 && !before.is_empty();
        let after = self.after.groups.iter();
        let after = after.filter(move |(path, _)| is_whole || before.contains_key(*path));
        after.map(move |(path, after)| (path.as_str(), interval.change(before.get(path), after)))
    }

    pub(crate) fn group(&self, path: Option<&str>) -> Option<Change<'a>> {
        self.groups().find(|(other, _)| Some(*other) == path).map(|(_, change)| change)
    }

    /// The change of each process. A new one (its number may have been reused) began at 0; a
    /// snapshot without any process did not read them. Where one left some out, only those count
    /// as new that began later.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = Task<'a>> {
        let interval = *self;
        let before = &interval.before.tasks;
        let left_out = interval.before.left_out.tasks > 0;
        let boot_ns = interval.before.boot_ns;
        let is_known = move |pid: &u32, after: &TaskSnapshot| {
            let is_new = || boot_ns.is_some_and(|boot_ns| after.began_after(boot_ns));
            !interval.is_without_tasks
                && !before.is_empty()
                && (!left_out || before.contains_key(pid) || is_new())
        };
        let after = self.after.tasks.iter().filter(move |(pid, after)| is_known(pid, after));
        after.map(move |(pid, after)| {
            let before = before.get(pid).filter(|before| before.is_same(after));
            let counters = interval.change(before.map(|it| &it.counters), &after.counters);
            Task { pid: *pid, name: &after.name, group: after.group.as_deref(), counters }
        })
    }

    /// The processes of one control group, or those without a group.
    pub(crate) fn tasks_of(&self, group: Option<&str>) -> impl Iterator<Item = Task<'a>> {
        self.tasks().filter(move |task| task.group == group)
    }

    fn change(&self, before: Option<&'a CounterSet>, after: &'a CounterSet) -> Change<'a> {
        Change { before, after, elapsed_ns: self.elapsed_ns() }
    }
}

/// A value, unless it is so large (36 years of ns, else 2^50: 35 years of µs, a pebibyte) that the
/// recording must be damaged. Rules may therefore convert units and add without overflow.
fn plausible(name: &str, value: u64) -> Option<f64> {
    let bits = if name.ends_with("_ns") { 60 } else { 50 };
    (value >> bits == 0).then_some(value as f64)
}

/// The counters of the machine, a control group or a process at both ends of an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    /// `None`: it is new, and its counters began at 0.
    pub(crate) before: Option<&'a CounterSet>,
    after: &'a CounterSet,
    pub(crate) elapsed_ns: u64,
}

impl<'a> Change<'a> {
    /// The state at the start, to be read by levels; `None` if the owner is new.
    pub(crate) fn at_start(&self) -> Option<Change<'a>> {
        Some(Change { after: self.before?, ..*self })
    }
}

impl Change<'_> {
    /// The increase of a counter; `None` if it is absent or has shrunk.
    pub(crate) fn grown(&self, source: &str, name: &str) -> Option<f64> {
        let at = |set: &CounterSet| set.get(source)?.get(name).copied();
        let before = self.before.map_or(Some(0), at)?;
        plausible(name, at(self.after)?.checked_sub(before)?)
    }

    /// The increase of the first available counter: kernels use different names.
    pub(crate) fn grown_any(&self, source: &str, names: &[&str]) -> Option<f64> {
        names.iter().find_map(|name| self.grown(source, name))
    }

    /// The increase of each counter of a source, by name; a new one began at 0.
    pub(crate) fn grown_each(&self, source: &str) -> impl Iterator<Item = (&str, f64)> {
        let before = self.before.and_then(|set| set.get(source));
        let after = self.after.get(source).into_iter().flatten();
        after.filter_map(move |(name, after)| {
            let before = before.and_then(|values| values.get(name)).copied().unwrap_or(0);
            Some((name.as_str(), plausible(name, after.checked_sub(before)?)?))
        })
    }

    /// File pages of a control group that were read again, by the names of both versions.
    pub(crate) fn file_refaults(&self) -> Option<f64> {
        self.grown_any("memcg", &["workingset_refault_file", "total_workingset_refault_file"])
    }

    pub(crate) fn level(&self, source: &str, name: &str) -> Option<f64> {
        plausible(name, self.after.get(source)?.get(name).copied()?)
    }

    /// The value at the end of the first available counter.
    pub(crate) fn level_any(&self, source: &str, names: &[&str]) -> Option<f64> {
        names.iter().find_map(|name| self.level(source, name))
    }

    /// CPU time of a process in ns: `utime_ticks` in user mode, `stime_ticks` in the kernel.
    pub(crate) fn cpu_ns(&self, name: &str) -> f64 {
        self.grown("task_stat", name).unwrap_or(0.0) * TICK_NS
    }

    /// A pressure stall total (`psi/memory_some_us`, …) as a share of wall-clock time.
    pub(crate) fn pressure(&self, source: &str, name: &str) -> Option<LostTime> {
        Some(LostTime::of_wall(self.grown(source, name)? * 1e3, self.elapsed_ns))
    }

    /// Whether a source is available at both ends, or at the end if the owner is new.
    pub(crate) fn has(&self, source: &str) -> bool {
        let has = |set: &CounterSet| set.contains_key(source);
        self.before.is_none_or(has) && has(self.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{counters, snapshot, task};

    /// A snapshot with processes: number, start and context switches of each.
    fn with(at_ns: u64, tasks: &[(u32, u64, u64)]) -> Snapshot {
        let mut snapshot = snapshot(at_ns);
        for (pid, start, switches) in tasks {
            let counters = [
                ("task_stat", "starttime_ticks", *start),
                ("task_status", "voluntary_ctxt_switches", *switches),
            ];
            snapshot.tasks.insert(*pid, task("job", None, &counters));
        }
        snapshot
    }

    fn switches(before: &Snapshot, after: &Snapshot) -> Vec<(u32, Option<f64>)> {
        let interval = Interval::new(before, after);
        let grown = |change: Change<'_>| change.grown("task_status", "voluntary_ctxt_switches");
        interval.tasks().map(|task| (task.pid, grown(task.counters))).collect()
    }

    #[test]
    fn what_has_begun_since_counts_from_nothing() {
        let before = with(0, &[(1, 10, 100), (2, 20, 100)]);
        let after = with(9, &[(1, 10, 130), (2, 77, 40), (3, 80, 5)]);
        assert_eq!(switches(&before, &after), [(1, Some(30.0)), (2, Some(40.0)), (3, Some(5.0))]);
        assert_eq!(switches(&with(0, &[]), &after), []);
    }

    #[test]
    fn a_group_that_was_made_since_counts_from_nothing() {
        let with = |at_ns, groups: &[(&str, u64)]| {
            let mut snapshot = snapshot(at_ns);
            for (path, faults) in groups {
                let counters = counters(&[("memcg", "pgmajfault", *faults)]);
                snapshot.groups.insert((*path).to_owned(), counters);
            }
            snapshot
        };
        let faults = |before: &Snapshot, after: &Snapshot| -> Vec<Option<f64>> {
            let interval = Interval::new(before, after);
            interval.groups().map(|(_, change)| change.grown("memcg", "pgmajfault")).collect()
        };
        let after = with(9, &[("/new", 40), ("/old", 90)]);
        assert_eq!(faults(&with(0, &[("/old", 70)]), &after), [Some(40.0), Some(20.0)]);
        assert_eq!(faults(&with(0, &[]), &after), []);
    }

    #[test]
    fn what_was_left_out_before_is_not_new() {
        let mut before = with(0, &[(1, 10, 100)]);
        (before.left_out, before.boot_ns) =
            (LeftOut { groups: 3, tasks: 2, ..LeftOut::default() }, Some(500_000_000));
        before.groups.insert("/old".to_owned(), CounterSet::new());
        // 20 ticks since boot are 200 ms, 80 are 800 ms.
        let mut after = with(9, &[(1, 10, 130), (2, 20, 900), (3, 80, 5)]);
        after.groups = ["/old", "/unread"].map(|path| (path.to_owned(), CounterSet::new())).into();
        assert_eq!(switches(&before, &after), [(1, Some(30.0)), (3, Some(5.0))]);
        let interval = Interval::new(&before, &after);
        assert_eq!(interval.groups().map(|(path, _)| path).collect::<Vec<_>>(), ["/old"]);
        assert_eq!(interval.left_out(), LeftOut { groups: 3, tasks: 2, ..LeftOut::default() });
    }

    #[test]
    fn what_has_ended_counts_as_far_as_it_was_seen() {
        let mut after = with(9, &[(1, 10, 130)]);
        after.groups.insert("/now".to_owned(), CounterSet::new());
        let mut glance = with(5, &[(1, 10, 110), (2, 20, 140)]);
        glance.groups.insert("/gone".to_owned(), CounterSet::new());
        after.keep_ended(glance);
        assert_eq!(after.groups.keys().collect::<Vec<_>>(), ["/gone", "/now"]);
        let before = with(0, &[(1, 10, 100), (2, 20, 100)]);
        assert_eq!(switches(&before, &after), [(1, Some(30.0)), (2, Some(40.0))]);
    }
}
