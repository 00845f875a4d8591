//! A control group is stopped because its quota of CPU time is used up, or the machine itself gets
//! no CPU from its hypervisor.

use crate::cpu_time::{CpuTime, TICK_NS, cpu_ticks};
use crate::evidence::NOTE_SHARE;
use crate::interval::Change;
use crate::{
    Confidence, Evidence, Family, Finding, Interval, LostTime, Price, Provocation, Rule, Scope,
    UnitCosts, Verdict,
};

/// From this share of the time lost on it is evidence.
const LOST_SHARE: f64 = 0.05;
/// From this share of its periods on a quota is too small.
const PERIOD_SHARE: f64 = 0.1;
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
        .filter(|throttled| throttled.lost.share() >= NOTE_SHARE)
        .map(Throttled::finding)
        .collect();
    let share = stolen.map_or(0.0, |lost| lost.share());
    findings.extend(stolen.filter(|lost| lost.share() >= NOTE_SHARE).map(stolen_finding));
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
    /// Of the CPUs that were stopped at once, at most.
    lost: LostTime,
    stopped: u64,
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
    let lost = LostTime::of_cpus(lost_ns, stopped as u64, stopped * elapsed_ns);
    let periods = change
        .grown("cpu_cgroup", "nr_throttled")
        .zip(change.grown("cpu_cgroup", "nr_periods"))
        .map(|(stopped, all)| (all, stopped));
    Some(Throttled { path: path.to_owned(), lost, stopped: stopped as u64, periods })
}

/// How many CPUs a group can use at once: its processes that ran at all, at most the machine's
/// CPUs. 0 if neither is known.
fn runnable(interval: &Interval<'_>, path: &str) -> f64 {
    let ran = |change: &Change<'_>| {
        let ticks = ["utime_ticks", "stime_ticks"].map(|name| change.grown("task_stat", name));
        ticks.into_iter().flatten().sum::<u64>() as f64 * TICK_NS
            >= NOTE_SHARE * interval.elapsed_ns() as f64
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
    processes.min(CpuTime::in_interval(interval).map_or(0.0, |time| time.cpus as f64))
}

/// Time that the hypervisor took, out of that in which a CPU was wanted.
fn steal(interval: &Interval<'_>) -> Option<LostTime> {
    let steal = cpu_ticks(interval, "steal")? as f64;
    Some(CpuTime::in_interval(interval)?.lost(steal * TICK_NS))
}

impl Throttled {
    fn finding(&self) -> Finding {
        let price = Price::Known(self.lost);
        let mut evidence = Vec::from_iter(price.evidence(LOST_SHARE));
        evidence.push(Evidence::told("cpu_cgroup/throttled, ns", self.lost.lost_ns() as f64));
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
                "{} was stopped for {:.0} % of its time on {} CPUs: its quota was used up",
                self.path,
                self.lost.share() * 100.0,
                self.stopped
            ),
            price,
            confidence: Confidence::from(evidence.as_slice()),
            evidence,
            counterfactual: None,
            remedy: "raise the quota (cpu.max; version 1: cpu.cfs_quota_us), or start fewer \
                     processes and threads at once"
                .to_owned(),
            confirm: confirm(&self.path),
        }
    }
}

/// A command that prints the counters of a group; its name is the user's, and may hold anything.
fn confirm(path: &str) -> String {
    let literal = |letter: char| match letter {
        '*' | '?' | '[' | '\\' => format!("\\{letter}"),
        other => other.to_string(),
    };
    let pattern: String = path.chars().map(literal).collect();
    let pattern = model::shown::quoted(&format!("*{pattern}/cpu.stat"));
    format!("find /sys/fs/cgroup -path {pattern} -exec cat {{}} +")
}

fn stolen_finding(lost: LostTime) -> Finding {
    let price = Price::Known(lost);
    let mut evidence = Vec::from_iter(price.evidence(LOST_SHARE));
    evidence.push(Evidence::told("stat/cpu_steal_ticks, ns", lost.lost_ns() as f64));
    Finding {
        rule: RULE.name,
        family: RULE.family,
        scope: Scope::Machine,
        condition: format!(
            "the hypervisor gave {:.1} % of the CPU time that was wanted to somebody else",
            lost.share() * 100.0
        ),
        price,
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
        assert!((one.found(&RULE).lost().unwrap().share() - 0.9).abs() < 1e-9);
        let many = one.with_task(2, Some("/a/b"), &ran).with_task(3, Some("/a"), &ran);
        let found = many.found(&RULE);
        assert!(
            (found.lost().unwrap().share() - 0.45).abs() < 1e-9,
            "there are two CPUs: {found:?}"
        );
        assert_eq!((found.confidence.agreeing, found.confidence.asked), (2, 2));
        let us = machine(0).with_group("/a", &[("cpu_cgroup", "throttled_usec", 300_000)]);
        assert_eq!(us.found(&RULE).lost().unwrap().lost_ns(), 300_000_000);
    }

    #[test]
    fn steal_is_a_share_of_what_was_wanted() {
        let found = machine(20).found(&RULE);
        assert_eq!(
            (found.scope.clone(), found.lost().unwrap().lost_ns()),
            (Scope::Machine, 200_000_000)
        );
        assert!((found.lost().unwrap().share() - 0.2).abs() < 1e-9);
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
