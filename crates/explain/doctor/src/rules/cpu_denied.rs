//! A CPU quota stops a control group, or the hypervisor gives the machine no CPU.

use super::*;

/// Share of throttled periods from which a quota is too small.
const PERIOD_SHARE: f64 = 0.1;
pub(crate) const RULE: Rule = Rule {
    name: "cpu-denied",
    family: Family::Cpu,
    about: "a quota stops a control group, or a hypervisor the machine",
    cost: "the time that the kernel counts: throttled, stolen",
    provocation: Provocation::Load("provoke-cpu-denied"),
    remedy: "a host with fewer neighbours, or a virtual machine with CPUs of its own",
    confirm: "vmstat 1 5 (column st)",
    look,
};

fn look(interval: &Interval<'_>, _: &UnitCosts) -> RuleResult {
    let stolen = stolen(interval);
    let throttled: Vec<Finding> =
        interval.groups().filter_map(|(path, change)| throttled(interval, path, &change)).collect();
    if stolen.is_none() && throttled.is_empty() {
        return Err(unable("neither steal (/proc/stat) nor cpu.stat is available"));
    }
    let share = stolen.as_ref().and_then(Finding::lost).map_or(0.0, |lost| lost.lost_share);
    let all = throttled.into_iter().chain(stolen);
    let findings: Vec<Finding> = all.filter(|found| !found.price.is_negligible()).collect();
    if findings.is_empty() {
        return ruled_out(format!(
            "no group was throttled for 1 % of its time; steal is {:.1} %",
            share * 100.0
        ));
    }
    Ok(findings)
}

/// What a group was denied; `None` without the counter. The kernel sums the time of each CPU on
/// which the group was throttled with a runnable task.
fn throttled(interval: &Interval<'_>, path: &str, change: &Change<'_>) -> Option<Finding> {
    let of_v1 = change.grown("cpu_cgroup", "throttled_time_ns");
    let of_v2 = || change.grown("cpu_cgroup", "throttled_usec").map(|us| us * 1e3);
    let lost_ns = of_v1.or_else(of_v2)?;
    let elapsed_ns = interval.elapsed_ns().max(1) as f64;
    // An upper bound of the CPUs throttled at once.
    let stopped = (lost_ns / elapsed_ns).ceil().max(runnable(interval, path)).max(1.0);
    let lost = LostTime::of_cpus(lost_ns, stopped as u64, stopped * elapsed_ns);
    let periods = change.grown("cpu_cgroup", "nr_periods").filter(|periods| *periods > 0.0);
    let throttled = change.grown("cpu_cgroup", "nr_throttled");
    let of_periods = throttled.zip(periods).map(|(stopped, all)| stopped / all);
    let condition = format!(
        "{path} was stopped for {:.0} % of its time on {stopped} CPUs: its quota was used up",
        lost.lost_share * 100.0
    );
    let found = RULE
        .finding(Scope::Group(path.to_owned()), Price::Known(lost), condition)
        .lost_from(LOST_SHARE)
        .notes("cpu_cgroup/throttled, ns", lost.lost_ns as f64)
        .speaks("cpu_cgroup/nr_throttled per period", of_periods, PERIOD_SHARE);
    Some(Finding {
        remedy: "raise the quota (cpu.max; version 1: cpu.cfs_quota_us), or start fewer processes \
                 and threads at once"
            .to_owned(),
        confirm: confirm(path),
        ..found
    })
}

/// CPUs that a group can use at once: its processes that ran, at most the machine's CPUs.
fn runnable(interval: &Interval<'_>, path: &str) -> f64 {
    let least_ns = NOTE_SHARE * interval.elapsed_ns() as f64;
    let ran = |Task { group, counters, .. }: &Task<'_>| {
        let rest = group.and_then(|group| group.strip_prefix(path));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            && counters.cpu_ns("utime_ticks") + counters.cpu_ns("stime_ticks") >= least_ns
    };
    let processes = interval.tasks().filter(ran).count() as f64;
    processes.min(CpuTime::in_interval(interval).map_or(0.0, |time| time.cpus as f64))
}

/// A command that prints the counters of a group, whose name may contain any character.
fn confirm(path: &str) -> String {
    let mut pattern = "*".to_owned();
    for letter in path.chars() {
        pattern.extend("*?[\\".contains(letter).then_some('\\'));
        pattern.push(letter);
    }
    let pattern = model::shown::quoted(&(pattern + "/cpu.stat"));
    format!("find /sys/fs/cgroup -path {pattern} -exec cat {{}} +")
}

/// The time that the hypervisor took, out of the time in which CPUs were wanted.
fn stolen(interval: &Interval<'_>) -> Option<Finding> {
    let steal_ns = cpu_ticks(interval, "steal")? * TICK_NS;
    let lost = CpuTime::in_interval(interval)?.lost(steal_ns);
    let condition = format!(
        "the hypervisor withheld {:.1} % of the demanded CPU time",
        lost.lost_share * 100.0
    );
    let found = RULE.finding(Scope::Machine, Price::Known(lost), condition);
    Some(found.lost_from(LOST_SHARE).notes("stat/cpu_steal_ticks, ns", lost.lost_ns as f64))
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
        assert!((one.found(&RULE).lost().unwrap().lost_share - 0.9).abs() < 1e-9);
        let many = one.with_task(2, Some("/a/b"), &ran).with_task(3, Some("/a"), &ran);
        let found = many.found(&RULE);
        assert!(
            (found.lost().unwrap().lost_share - 0.45).abs() < 1e-9,
            "there are two CPUs: {found:?}"
        );
        assert_eq!((found.confidence.agreeing, found.confidence.asked), (2, 2));
        let us = machine(0).with_group("/a", &[("cpu_cgroup", "throttled_usec", 300_000)]);
        assert_eq!(us.found(&RULE).lost().unwrap().lost_ns, 300_000_000);
    }

    #[test]
    fn steal_is_a_share_of_what_was_wanted() {
        let found = machine(20).found(&RULE);
        assert_eq!(
            (found.scope.clone(), found.lost().unwrap().lost_ns),
            (Scope::Machine, 200_000_000)
        );
        assert!((found.lost().unwrap().lost_share - 0.2).abs() < 1e-9);
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
