//! Who is affected by a condition: what single processes lost, told of them or of their group.

use std::collections::BTreeMap;

use crate::cpu_time::TICK_NS;
use crate::evidence::NOTE_SHARE;
use crate::interval::Change;
use crate::threads::Threads;
use crate::{Finding, Interval, LostTime, Price, Scope, TaskSnapshot, Verdict};

/// What one process lost to a condition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss<'a> {
    pid: u32,
    task: &'a TaskSnapshot,
    lost_ns: f64,
    threads: Threads,
}

impl<'a> Loss<'a> {
    /// A process that lost so many ns: at most all that its threads had.
    pub(crate) fn new(
        interval: &Interval<'_>,
        (pid, task, change): (u32, &'a TaskSnapshot, &Change<'_>),
        lost_ns: f64,
    ) -> Self {
        let threads = Threads::awake(interval, change);
        Self { pid, task, lost_ns: lost_ns.min(threads.had_ns), threads }
    }
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
    /// What all of them lost, of the time of their threads.
    pub(crate) lost: LostTime,
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

    /// The CPU time that they spent in the kernel, in ns.
    pub(crate) fn system_ns(&self, interval: &Interval<'_>) -> f64 {
        self.sum(interval, |change| change.grown("task_stat", "stime_ticks")) * TICK_NS
    }

    /// How many CPUs each process kept busy in the kernel, on average.
    pub(crate) fn system_cpus(&self, interval: &Interval<'_>) -> f64 {
        let each_ns = interval.elapsed_ns().max(1) as f64 * self.processes as f64;
        self.system_ns(interval) / each_ns
    }

    /// The share of the time of their threads that they spent in the kernel.
    pub(crate) fn share_of_system_time(&self, interval: &Interval<'_>) -> f64 {
        self.system_ns(interval) / (self.lost.of_ns() as f64).max(1.0)
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
    for loss in losses.iter().filter(|loss| loss.lost_ns >= NOTE_SHARE * loss.threads.had_ns) {
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
        let threads = losses.iter().map(|loss| loss.threads.count).sum();
        let had_ns: f64 = losses.iter().map(|loss| loss.threads.had_ns).sum();
        Some(Affected {
            scope,
            group: group.map(str::to_owned),
            pids: ranked.iter().map(|loss| loss.pid).collect(),
            processes: losses.len(),
            lost: LostTime::of_threads(lost_ns, threads, had_ns),
        })
    });
    affected.collect()
}

/// The price of a condition that makes the kernel work, out of those who are affected; if the cost
/// of that work was not measured, they were taken to lose all their time in the kernel, at most.
pub(crate) fn price(affected: &Affected, is_measured: bool) -> Price {
    Price::Known(if is_measured { affected.lost } else { affected.lost.at_most() })
}

/// The CPU time that a process spent in the kernel, in ns.
pub(crate) fn system_ns(change: &Change<'_>) -> f64 {
    change.grown("task_stat", "stime_ticks").unwrap_or(0) as f64 * TICK_NS
}

/// The verdict of a rule whose findings are priced with upper bounds, for want of a cost. They are
/// found only where every counter agrees.
pub(crate) fn without_cost(findings: Vec<Finding>, missing: &str) -> Verdict {
    if findings.is_empty() {
        return Verdict::RuledOut(
            "nobody who could be affected spends 1 % of its time in the kernel".to_owned(),
        );
    }
    let agreed: Vec<Finding> =
        findings.into_iter().filter(|found| found.confidence.is_unanimous()).collect();
    if agreed.is_empty() { Verdict::Unable(missing.to_owned()) } else { Verdict::Found(agreed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Second, snapshot, task};

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
        assert!(found.iter().all(|one| (one.lost.share() - 0.5).abs() < 1e-9), "{found:?}");
        assert!((losses(9e9)[0].lost.share() - 1.0).abs() < 1e-9, "never more than all");
        assert!(losses(4e6).is_empty());
    }

    #[test]
    fn what_a_process_of_many_threads_lost_is_of_all_that_ran() {
        let mut values = vec![("task_stat", "threads", 9)];
        values.extend(["1", "2", "3", "4"].map(|thread| ("thread_run_ns", thread, 7)));
        let second = Second::of_machine(&[]).with_task(1, Some("/a"), &values);
        let interval = second.interval();
        let losses: Vec<Loss<'_>> = interval
            .tasks()
            .map(|(pid, task, change)| Loss::new(&interval, (pid, task, &change), 1e9))
            .collect();
        assert_eq!(by_scope(&losses)[0].lost, LostTime::of_threads(1e9, 4, 4e9));
    }
}
