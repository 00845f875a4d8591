//! Who is affected by a condition: losses of processes, alone or summed over their group.

use std::collections::BTreeMap;

use crate::interval::{Change, Interval, Task};
use crate::lost_time::{LOST_SHARE, NOTE_SHARE};
use crate::rule::{RuleResult, ruled_out, unable};
use crate::threads::Threads;
use crate::{Finding, LostTime, Price, Rule, Scope};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss<'a> {
    task: Task<'a>,
    lost_ns: f64,
    threads: Threads,
}

/// Time that processes lost, by a figure in ns, at most the time of their threads; losses below
/// 1 % are omitted. `None` if no process has the figure.
pub(crate) fn losses<'a>(
    interval: &Interval<'a>,
    mut figure: impl FnMut(&Task<'a>) -> Option<f64>,
) -> Option<Vec<Loss<'a>>> {
    let loss = |task: Task<'a>| {
        let lost_ns = figure(&task)?;
        let threads = Threads::awake(&task.counters);
        Some(Loss { task, lost_ns: lost_ns.min(threads.had_ns), threads })
    };
    let mut losses: Vec<Loss<'a>> = interval.tasks().filter_map(loss).collect();
    let is_known = !losses.is_empty();
    losses.retain(|loss| loss.lost_ns >= NOTE_SHARE * loss.threads.had_ns);
    is_known.then_some(losses)
}

/// The total loss of several processes.
pub(crate) fn sum(losses: &[Loss<'_>]) -> LostTime {
    let sum = |figure: fn(&Loss<'_>) -> f64| losses.iter().map(figure).sum();
    let threads = losses.iter().map(|loss| loss.threads.count).sum();
    LostTime::of_threads(sum(|loss| loss.lost_ns), threads, sum(|loss| loss.threads.had_ns))
}

/// A process, or the processes of one group, that lost time to the same condition.
#[derive(Clone, Debug)]
pub(crate) struct Affected {
    pub(crate) scope: Scope,
    /// The group, or the group of the process.
    pub(crate) group: Option<String>,
    /// The processes, the largest loss first.
    pub(crate) pids: Vec<u32>,
    pub(crate) lost: LostTime,
}

impl Affected {
    /// A name for messages: `3 processes of /a` or `name (17)`.
    pub(crate) fn who(&self) -> String {
        match &self.scope {
            Scope::Machine => "the machine".to_owned(),
            Scope::Group(path) => format!("{} processes of {path}", self.pids.len()),
            Scope::Process { pid, name } => format!("{name} ({pid})"),
        }
    }

    /// The sum of a figure; absent ones count as 0.
    fn sum(&self, interval: &Interval<'_>, figure: impl Fn(&Change<'_>) -> Option<f64>) -> f64 {
        let affected = interval.tasks().filter(|task| self.pids.contains(&task.pid));
        affected.map(|task| figure(&task.counters).unwrap_or(0.0)).sum()
    }

    /// The sum of a counter at the end.
    pub(crate) fn level(&self, interval: &Interval<'_>, source: &str, name: &str) -> f64 {
        self.sum(interval, |counters| counters.level(source, name))
    }

    pub(crate) fn minor_faults_per_s(&self, interval: &Interval<'_>) -> f64 {
        self.sum(interval, |counters| counters.grown("task_stat", "minflt")) / interval.seconds()
    }

    /// CPUs that each process kept busy in the kernel, on average.
    pub(crate) fn system_cpus(&self, interval: &Interval<'_>) -> f64 {
        let each_ns = interval.elapsed_ns().max(1) as f64 * self.pids.len() as f64;
        self.cpu_ns(interval, "stime_ticks") / each_ns
    }

    /// Share of time in user mode (`utime_ticks`) or the kernel (`stime_ticks`).
    pub(crate) fn share_of_time(&self, interval: &Interval<'_>, ticks: &str) -> f64 {
        self.cpu_ns(interval, ticks) / (self.lost.lost_of_ns as f64).max(1.0)
    }

    fn cpu_ns(&self, interval: &Interval<'_>, ticks: &str) -> f64 {
        self.sum(interval, |counters| Some(counters.cpu_ns(ticks)))
    }
}

/// The result of [`losses`], with processes of one group combined.
pub(crate) fn affected<'a>(
    interval: &Interval<'a>,
    lost_ns: impl FnMut(&Task<'a>) -> Option<f64>,
) -> Option<Vec<Affected>> {
    let mut groups: BTreeMap<(Option<&str>, u32), Vec<Loss<'a>>> = BTreeMap::new();
    for loss in losses(interval, lost_ns)? {
        let alone = if loss.task.group.is_some() { 0 } else { loss.task.pid };
        groups.entry((loss.task.group, alone)).or_default().push(loss);
    }
    let affected = groups.into_iter().filter_map(|((group, _), mut losses)| {
        let (lost, first) = (sum(&losses), losses.first()?.task);
        let scope = match (losses.len(), group) {
            (2.., Some(path)) => Scope::Group(path.to_owned()),
            _ => Scope::Process { pid: first.pid, name: first.name.to_owned() },
        };
        losses.sort_by(|a, b| b.lost_ns.total_cmp(&a.lost_ns));
        let pids = losses.iter().map(|loss| loss.task.pid).collect();
        Some(Affected { scope, group: group.map(str::to_owned), pids, lost })
    });
    Some(affected.collect())
}

impl Rule {
    /// A finding about processes, with the largest loser as `PID`; unmeasured costs are bounds.
    pub(crate) fn finding_of(&self, who: &Affected, measured: bool, condition: String) -> Finding {
        let lost = if measured { who.lost } else { who.lost.at_most() };
        let worst = who.pids.first().copied().unwrap_or_default();
        let confirm = self.confirm.replace("PID", &worst.to_string());
        let found = self.finding(who.scope.clone(), Price::Known(lost), condition);
        Finding { confirm, processes: who.pids.clone(), ..found.lost_from(LOST_SHARE) }
    }
}

/// The verdict on kernel work for processes; if its cost is not measured, only unanimous findings.
pub(crate) fn verdict_of_work(
    findings: Vec<Finding>,
    (is_measured, missing): (bool, &str),
    nobody: impl FnOnce() -> String,
) -> RuleResult {
    if findings.is_empty() {
        return ruled_out(nobody());
    }
    let counts = |found: &Finding| is_measured || found.is_unanimous();
    let counted: Vec<Finding> = findings.into_iter().filter(counts).collect();
    if counted.is_empty() { Err(unable(missing)) } else { Ok(counted) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Second, snapshot, task};

    #[test]
    fn processes_of_a_group_count_together_and_others_alone() {
        let mut before = snapshot(0);
        let mut after = snapshot(1_000_000_000);
        for (pid, group) in
            [(1, Some("/a")), (2, Some("/a")), (3, None), (4, None), (5, Some("/b"))]
        {
            before.tasks.insert(pid, task("job", group, &[("schedstat", "wait_ns", 0)]));
            after.tasks.insert(pid, task("job", group, &[("schedstat", "wait_ns", 500_000_000)]));
        }
        let interval = Interval::new(&before, &after);
        let losses = |lost_ns: f64| affected(&interval, |_| Some(lost_ns)).unwrap();
        let found = losses(250e6);
        let scopes: Vec<String> = found.iter().map(Affected::who).collect();
        assert_eq!(scopes, ["job (3)", "job (4)", "2 processes of /a", "job (5)"]);
        // Half a second was waited for a CPU.
        assert!(found.iter().all(|one| (one.lost.lost_share - 0.5).abs() < 1e-9), "{found:?}");
        assert!((losses(9e9)[0].lost.lost_share - 1.0).abs() < 1e-9, "never more than all");
        assert!(losses(4e6).is_empty());
    }

    #[test]
    fn what_a_process_of_many_threads_lost_is_of_all_that_ran() {
        let mut values = vec![("task_stat", "threads", 9)];
        values.extend(["1", "2", "3", "4"].map(|thread| ("thread_run_ns", thread, 7)));
        let second = Second::of_machine(&[]).with_task(1, Some("/a"), &values);
        let interval = second.interval();
        let affected = affected(&interval, |_| Some(1e9)).unwrap();
        assert_eq!(affected[0].lost, LostTime::of_threads(1e9, 4, 4e9));
    }
}
