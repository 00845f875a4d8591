//! Who is affected by a condition: what single processes lost, told of them or of their group.

use std::collections::BTreeMap;

use crate::interval::Change;
use crate::{Evidence, Interval, Scope, TaskSnapshot};

/// Length of a tick of `/proc/PID/stat` and `/proc/stat` in ns: `USER_HZ` is 100 everywhere.
pub(crate) const TICK_NS: f64 = 1e7;
/// A process that lost less of its time than this is not affected.
const AFFECTED_SHARE: f64 = 0.01;

/// What one process lost to a condition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss<'a> {
    pid: u32,
    task: &'a TaskSnapshot,
    lost_ns: f64,
    able_ns: f64,
}

impl<'a> Loss<'a> {
    /// A process that lost so many ns: at most all that it had.
    pub(crate) fn new(
        interval: &Interval<'_>,
        (pid, task, change): (u32, &'a TaskSnapshot, &Change<'_>),
        lost_ns: f64,
    ) -> Self {
        let able_ns = able_ns(interval, change);
        Self { pid, task, lost_ns: lost_ns.min(able_ns), able_ns }
    }
}

/// The time of a process in which it did not wait for a CPU, in ns: what it waits for a CPU is lost
/// to whoever has the CPU, and to nothing else.
pub(crate) fn able_ns(interval: &Interval<'_>, change: &Change<'_>) -> f64 {
    let elapsed_ns = interval.elapsed_ns();
    let wait_ns = change.grown("schedstat", "wait_ns").unwrap_or(0);
    let left_ns = elapsed_ns.saturating_sub(wait_ns);
    // The kernel adds up a wait when it ends: who waits most of the time waits, too, when the
    // snapshots are taken, and had the time in which it ran.
    let ran_ns = change.grown("schedstat", "run_ns").filter(|_| wait_ns > elapsed_ns / 2);
    ran_ns.map_or(left_ns, |ran_ns| ran_ns.min(left_ns)).max(1) as f64
}

/// A process, or the processes of one group, that lost time to the same condition.
#[derive(Clone, Debug)]
pub(crate) struct Affected {
    /// The process, or the group of several.
    pub(crate) scope: Scope,
    /// The group that it is or is in.
    pub(crate) group: Option<String>,
    /// The numbers of the processes, those that lost most first.
    pids: Vec<u32>,
    /// How many processes there are.
    pub(crate) processes: usize,
    /// What all of them lost, in ns.
    pub(crate) lost_ns: f64,
    /// The same as a share of the time that they had.
    pub(crate) lost_share: f64,
}

impl Affected {
    /// Who, for a sentence: `3 processes of /a` or `name (17)`.
    pub(crate) fn who(&self) -> String {
        match &self.scope {
            Scope::Machine => "the machine".to_owned(),
            Scope::Group(path) => format!("{} processes of {path}", self.processes),
            Scope::Process { pid, name } => format!("{name} ({pid})"),
        }
    }

    /// A figure of all of them together; of those that do not tell it nothing is added.
    pub(crate) fn sum(
        &self,
        interval: &Interval<'_>,
        figure: impl Fn(&Change<'_>) -> Option<u64>,
    ) -> f64 {
        let affected = interval.tasks().filter(|(pid, _, _)| self.pids.contains(pid));
        affected.filter_map(|(_, _, change)| figure(&change)).sum::<u64>() as f64
    }

    /// The share of their time that they spent in the kernel.
    pub(crate) fn share_of_system_time(&self, interval: &Interval<'_>) -> f64 {
        let ticks = self.sum(interval, |change| change.grown("task_stat", "stime_ticks"));
        ticks * TICK_NS / (interval.elapsed_ns().max(1) as f64 * self.processes as f64)
    }

    /// A command for the process that lost most.
    pub(crate) fn command(&self, of: impl Fn(u32) -> String) -> String {
        self.pids.first().map(|pid| of(*pid)).unwrap_or_default()
    }
}

/// Those who are affected: processes of one group together, the others by themselves. Who lost less
/// than 1 % of its time is left out.
pub(crate) fn by_scope(losses: &[Loss<'_>]) -> Vec<Affected> {
    let mut groups: BTreeMap<(Option<&str>, u32), Vec<&Loss<'_>>> = BTreeMap::new();
    for loss in losses.iter().filter(|loss| loss.lost_ns >= AFFECTED_SHARE * loss.able_ns) {
        let group = loss.task.group.as_deref();
        let alone = if group.is_some() { 0 } else { loss.pid };
        groups.entry((group, alone)).or_default().push(loss);
    }
    let affected = groups.into_iter().filter_map(|((group, _), losses)| {
        let first = losses.first()?;
        let scope = match (losses.len(), group) {
            (2.., Some(path)) => Scope::Group(path.to_owned()),
            _ => Scope::Process { pid: first.pid, name: first.task.name.clone() },
        };
        let mut ranked = losses.clone();
        ranked.sort_by(|a, b| b.lost_ns.total_cmp(&a.lost_ns));
        let lost_ns: f64 = losses.iter().map(|loss| loss.lost_ns).sum();
        let able_ns: f64 = losses.iter().map(|loss| loss.able_ns).sum();
        Some(Affected {
            scope,
            group: group.map(str::to_owned),
            pids: ranked.iter().map(|loss| loss.pid).collect(),
            processes: losses.len(),
            lost_ns,
            lost_share: lost_ns / able_ns,
        })
    });
    affected.collect()
}

/// The evidence that a share of time is lost at all, as every rule with a formula gives it.
pub(crate) fn share_evidence(share: f64, threshold: f64) -> Evidence {
    Evidence::of("share of time lost", share, threshold)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{snapshot, task};

    #[test]
    fn processes_of_a_group_are_told_together_and_others_alone() {
        let mut before = snapshot(0);
        let mut after = snapshot(1_000_000_000);
        for (pid, group) in
            [(1, Some("/a")), (2, Some("/a")), (3, None), (4, None), (5, Some("/b"))]
        {
            before.tasks.insert(pid, task("job", group, &[("schedstat", "wait_ns", 0)]));
            after.tasks.insert(pid, task("job", group, &[("schedstat", "wait_ns", 500_000_000)]));
        }
        let interval = Interval::new(&before, &after);
        let losses = |lost_ns: f64| -> Vec<Affected> {
            let losses: Vec<Loss<'_>> = interval
                .tasks()
                .map(|(pid, task, change)| Loss::new(&interval, (pid, task, &change), lost_ns))
                .collect();
            by_scope(&losses)
        };
        let found = losses(250e6);
        let scopes: Vec<String> = found.iter().map(Affected::who).collect();
        assert_eq!(scopes, ["job (3)", "job (4)", "2 processes of /a", "job (5)"]);
        // Half a second was waited for a CPU.
        assert!(found.iter().all(|one| (one.lost_share - 0.5).abs() < 1e-9), "{found:?}");
        assert!((losses(9e9)[0].lost_share - 1.0).abs() < 1e-9, "never more than all");
        assert!(losses(4e6).is_empty());
        for task in after.tasks.values_mut() {
            let counters = task.counters.get_mut("schedstat").unwrap();
            counters.insert("wait_ns".to_owned(), 800_000_000);
            counters.insert("run_ns".to_owned(), 50_000_000);
        }
        for task in before.tasks.values_mut() {
            task.counters.get_mut("schedstat").unwrap().insert("run_ns".to_owned(), 0);
        }
        let interval = Interval::new(&before, &after);
        let able: Vec<f64> =
            interval.tasks().map(|(_, _, change)| able_ns(&interval, &change)).collect();
        assert_eq!(able, [50e6; 5], "who waits most of the time had what it ran");
    }
}
