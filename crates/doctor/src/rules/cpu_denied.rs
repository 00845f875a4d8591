//! A control group is stopped because its quota of CPU time is used up, or the machine itself gets
//! no CPU from its hypervisor.

use crate::affected::{TICK_NS, share_evidence};
use crate::interval::Change;
use crate::{
    Confidence, Evidence, Family, Finding, Interval, Provocation, Rule, Scope, UnitCosts, Verdict,
};

/// From this share of the time lost on it is evidence.
const LOST_SHARE: f64 = 0.05;
/// A rule's findings begin here.
const LEAST_SHARE: f64 = 0.01;
/// From this share of its periods on a quota is too small.
const PERIOD_SHARE: f64 = 0.1;
/// States of `/proc/stat` in which a CPU was wanted; `guest` is in `user` already.
const WANTED: [&str; 6] = ["user", "nice", "system", "irq", "softirq", "steal"];
/// Those in which it was not.
const NOT_WANTED: [&str; 2] = ["idle", "iowait"];

/// CPU time denied by a quota or a hypervisor.
pub(crate) const RULE: Rule = Rule {
    name: "cpu-denied",
    family: Family::Cpu,
    about: "a quota stops a control group, or a hypervisor the machine",
    cost: "the time that the kernel counts: throttled, stolen",
    provocation: Provocation::Load("provoke-cpu-denied"),
    look,
};

fn look(interval: &Interval<'_>, _: &UnitCosts) -> Verdict {
    let stolen = steal(interval);
    let throttled: Vec<Throttled> =
        interval.groups().filter_map(|(path, change)| throttled(interval, path, &change)).collect();
    if stolen.is_none() && throttled.is_empty() {
        return Verdict::Unable("neither steal (/proc/stat) nor cpu.stat is to be had".to_owned());
    }
    let mut findings: Vec<Finding> = throttled
        .iter()
        .filter(|throttled| throttled.lost_share >= LEAST_SHARE)
        .map(Throttled::finding)
        .collect();
    let share = stolen.map_or(0.0, |(_, share)| share);
    findings.extend(
        stolen
            .filter(|(_, share)| *share >= LEAST_SHARE)
            .map(|(lost, share)| stolen_finding(lost, share)),
    );
    if findings.is_empty() {
        return Verdict::RuledOut(format!(
            "no group was throttled for 1 % of its time; steal is {:.1} %",
            share * 100.0
        ));
    }
    Verdict::Found(findings)
}

/// A group with a quota.
struct Throttled {
    path: String,
    lost_ns: f64,
    lost_share: f64,
    /// How many CPUs were stopped at once, at most.
    stopped: f64,
    /// Periods, and how many of them it was stopped in.
    periods: Option<(u64, u64)>,
}

/// What a group was denied; `None` if it has no such counter. The kernel adds up the time of each
/// CPU on which the group was stopped while somebody in it wanted to run.
fn throttled(interval: &Interval<'_>, path: &str, change: &Change<'_>) -> Option<Throttled> {
    let of_v1 = change.grown("cpu_cgroup", "throttled_time_ns");
    let of_v2 = || change.grown("cpu_cgroup", "throttled_usec").map(|us| us * 1000);
    let lost_ns = of_v1.or_else(of_v2)? as f64;
    let elapsed_ns = interval.elapsed_ns().max(1) as f64;
    let stopped = (lost_ns / elapsed_ns).ceil().max(runnable(interval, path)).max(1.0);
    let periods = change
        .grown("cpu_cgroup", "nr_throttled")
        .zip(change.grown("cpu_cgroup", "nr_periods"))
        .map(|(stopped, all)| (all, stopped));
    let lost_share = (lost_ns / elapsed_ns / stopped).min(1.0);
    Some(Throttled { path: path.to_owned(), lost_ns, lost_share, stopped, periods })
}

/// How many CPUs a group can use at once: its processes that ran at all, at most the machine's
/// CPUs. 0 if neither is known.
fn runnable(interval: &Interval<'_>, path: &str) -> f64 {
    let ran = |change: &Change<'_>| {
        let ticks = ["utime_ticks", "stime_ticks"].map(|name| change.grown("task_stat", name));
        ticks.into_iter().flatten().sum::<u64>() as f64 * TICK_NS
            >= LEAST_SHARE * interval.elapsed_ns() as f64
    };
    let inside = |group: Option<&str>| {
        group.is_some_and(|group| {
            group.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let processes = interval
        .tasks()
        .filter(|(_, task, change)| inside(task.group.as_deref()) && ran(change))
        .count() as f64;
    let all = WANTED.iter().chain(&NOT_WANTED);
    let ticks: u64 = all.filter_map(|state| cpu_ticks(interval, state)).sum();
    let cpus = (ticks as f64 * TICK_NS / interval.elapsed_ns().max(1) as f64).round();
    processes.min(cpus)
}

/// CPU time of the machine in a state, in ticks.
fn cpu_ticks(interval: &Interval<'_>, state: &str) -> Option<u64> {
    interval.machine().grown("stat", &format!("cpu_{state}_ticks"))
}

/// Time that the hypervisor took, in ns, and as a share of the time in which a CPU was wanted.
fn steal(interval: &Interval<'_>) -> Option<(f64, f64)> {
    let steal = cpu_ticks(interval, "steal")? as f64;
    let wanted: u64 = WANTED.iter().filter_map(|state| cpu_ticks(interval, state)).sum();
    Some((steal * TICK_NS, steal / (wanted as f64).max(1.0)))
}

impl Throttled {
    fn finding(&self) -> Finding {
        let mut evidence = vec![
            share_evidence(self.lost_share, LOST_SHARE),
            Evidence::told("cpu_cgroup/throttled, ns", self.lost_ns),
        ];
        if let Some((all, stopped)) = self.periods.filter(|(all, _)| *all > 0) {
            let share = stopped as f64 / all as f64;
            let name = "cpu_cgroup/nr_throttled per period";
            evidence.push(Evidence::of(name, share, PERIOD_SHARE));
        }
        Finding {
            rule: RULE.name,
            family: RULE.family,
            scope: Scope::Group(self.path.clone()),
            condition: format!(
                "{} was stopped for {:.0} % of its time on {:.0} CPUs: its quota was used up",
                self.path,
                self.lost_share * 100.0,
                self.stopped
            ),
            lost_ns: self.lost_ns as u64,
            lost_share: self.lost_share,
            is_bound: false,
            confidence: Confidence::from(evidence.as_slice()),
            evidence,
            counterfactual: None,
            remedy: "raise the quota (cpu.max; version 1: cpu.cfs_quota_us), or start fewer \
                     processes and threads at once"
                .to_owned(),
            confirm: format!("find /sys/fs/cgroup -path '*{}/cpu.stat' | xargs cat", self.path),
        }
    }
}

fn stolen_finding(lost_ns: f64, lost_share: f64) -> Finding {
    let evidence = vec![
        share_evidence(lost_share, LOST_SHARE),
        Evidence::told("stat/cpu_steal_ticks, ns", lost_ns),
    ];
    Finding {
        rule: RULE.name,
        family: RULE.family,
        scope: Scope::Machine,
        condition: format!(
            "the hypervisor gave {:.1} % of the CPU time that was wanted to somebody else",
            lost_share * 100.0
        ),
        lost_ns: lost_ns as u64,
        lost_share,
        is_bound: false,
        confidence: Confidence::from(evidence.as_slice()),
        evidence,
        counterfactual: None,
        remedy: "a host with fewer neighbours, or a virtual machine with CPUs of its own"
            .to_owned(),
        confirm: "vmstat 1 5 (column st)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Second;

    fn machine(steal: u64) -> Second {
        Second::of_machine(&[
            ("stat", "cpu_user_ticks", 100 - steal),
            ("stat", "cpu_steal_ticks", steal),
            ("stat", "cpu_idle_ticks", 100),
        ])
    }

    #[test]
    fn a_quota_is_priced_for_as_many_cpus_as_could_run() {
        let ran = [("task_stat", "utime_ticks", 25)];
        let group = [
            ("cpu_cgroup", "throttled_time_ns", 900_000_000),
            ("cpu_cgroup", "nr_periods", 10),
            ("cpu_cgroup", "nr_throttled", 9),
        ];
        let one = machine(0).with_group("/a", &group).with_task(1, Some("/a"), &ran);
        assert!((one.found(&RULE).lost_share - 0.9).abs() < 1e-9);
        let many = one.with_task(2, Some("/a/b"), &ran).with_task(3, Some("/a"), &ran);
        let found = many.found(&RULE);
        assert!((found.lost_share - 0.45).abs() < 1e-9, "there are two CPUs: {found:?}");
        assert_eq!((found.confidence.agreeing, found.confidence.asked), (2, 2));
        let us = machine(0).with_group("/a", &[("cpu_cgroup", "throttled_usec", 300_000)]);
        assert_eq!(us.found(&RULE).lost_ns, 300_000_000);
    }

    #[test]
    fn steal_is_a_share_of_what_was_wanted() {
        let found = machine(20).found(&RULE);
        assert_eq!((found.scope, found.lost_ns), (Scope::Machine, 200_000_000));
        assert!((found.lost_share - 0.2).abs() < 1e-9);
    }

    #[test]
    fn a_busy_machine_without_either_is_healthy() {
        let quiet = machine(0).with_group("/a", &[("cpu_cgroup", "throttled_time_ns", 1000)]);
        assert!(quiet.ruled_out(&RULE).contains("steal is 0.0 %"));
    }

    #[test]
    fn without_counters_it_cannot_tell() {
        assert!(Second::of_machine(&[]).unable(&RULE).contains("cpu.stat"));
    }
}
