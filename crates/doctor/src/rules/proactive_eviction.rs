//! Somebody has pages evicted that there is room for, and they are read again.

use crate::evidence::NOTE_SHARE;
use crate::waits::{
    Traffic, by_major_faults, lost_of_pressure, lost_of_tasks, part_of_wall, price_of_waits,
};
use crate::{
    Change, Confidence, Evidence, Family, Finding, Interval, Operation, Price, Provocation, Rule,
    Scope, UnitCosts, Verdict,
};

/// From this share of its limit on, a group evicts for its limit's sake (methods.md, rule 1).
const NEAR_LIMIT: f64 = 0.95;
/// From this share of refaults on, neither the machine nor a limit explains them.
const UNEXPLAINED_SHARE: f64 = 0.5;

/// Eviction by somebody else.
pub(crate) const RULE: Rule = Rule {
    name: "proactive-eviction",
    family: Family::Reclaim,
    about: "somebody has pages evicted that there is room for (memory.reclaim, DAMON, a balloon)",
    cost: "of each task: block I/O delay x refaults that neither the machine nor a limit explains / \
           pages read; without delays: major faults of each task x the same share x cost of one \
           (calibrated), or at least the pressure of I/O (some) x the same share",
    provocation: Provocation::Load("provoke-proactive-eviction"),
    look,
};

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> Verdict {
    let machine = interval.machine();
    let (Some(traffic), Some(stolen)) = (Traffic::in_interval(interval), stolen(&machine)) else {
        return Verdict::Unable("vmstat does not tell what was reclaimed and came back".to_owned());
    };
    let refaults = traffic.file_refaults;
    if refaults == 0.0 {
        return Verdict::RuledOut("no file page came back".to_owned());
    }
    // A balloon takes its pages by reclaiming them.
    let ballooned = machine.grown("vmstat", "balloon_inflate").unwrap_or(0) as f64;
    let limited: f64 =
        interval.groups().fold(0.0, |sum, (_, group)| sum + refaults_at_limit(&group));
    let unexplained = refaults - limited - (stolen - ballooned).max(0.0);
    if unexplained < UNEXPLAINED_SHARE * refaults {
        return Verdict::RuledOut(format!(
            "{refaults} file pages came back; the machine reclaimed {stolen} for want of memory, \
             and {limited} were of control groups at their limit"
        ));
    }
    let group = interval.groups().find(|(_, group)| {
        group_refaults(group) >= UNEXPLAINED_SHARE * unexplained && refaults_at_limit(group) == 0.0
    });
    let path = group.as_ref().map(|(path, _)| *path);
    let price = price(interval, costs, path, &traffic, unexplained);
    if price.is_negligible() {
        return Verdict::RuledOut(format!(
            "{unexplained} file pages came back that there was room for, which took less than 1 % of \
             anybody's time"
        ));
    }
    let mut evidence = Vec::from_iter(price.evidence(NOTE_SHARE));
    evidence.extend([
        Evidence::of("unexplained share of refaults", unexplained / refaults, UNEXPLAINED_SHARE),
        Evidence::told("vmstat/workingset_refault_file", refaults),
        Evidence::told("vmstat/pgsteal (kswapd and direct)", stolen),
    ]);
    evidence.extend(orders(&machine, group.map(|(_, group)| group)));
    let found = Finding {
        rule: RULE.name,
        family: RULE.family,
        scope: path.map_or(Scope::Machine, |path| Scope::Group(path.to_owned())),
        condition: format!(
            "{unexplained} file pages came back that there was room for: somebody has them evicted"
        ),
        price,
        confidence: Confidence::from(evidence.as_slice()),
        evidence,
        counterfactual: None,
        remedy: "find who asks: a daemon that writes memory.reclaim, a DAMON scheme \
                 (/sys/kernel/mm/damon/admin), a balloon of the host; tell it to spare this, or \
                 note it beside what is measured"
            .to_owned(),
        confirm: "grep -r . /sys/kernel/mm/damon/admin/kdamonds/*/contexts/*/schemes/*/action; \
                  grep -E 'balloon|proactive' /proc/vmstat"
            .to_owned(),
    };
    found.verdict(interval, unexplained)
}

/// Counters that tell who asked, where they have grown.
fn orders(machine: &Change<'_>, group: Option<Change<'_>>) -> Vec<Evidence> {
    let told = |change: &Change<'_>, source: &str, name: &str| {
        let grown = change.grown(source, name).filter(|grown| *grown > 0)?;
        Some(Evidence::of(format!("{source}/{name}"), grown as f64, 1.0))
    };
    let mut lines = Vec::new();
    for name in ["pgsteal_proactive", "balloon_inflate"] {
        lines.extend(told(machine, "vmstat", name));
    }
    if let Some(group) = group {
        // Kernels before 2025 count what is asked for as direct reclaim of the group.
        let names = ["pgsteal_proactive", "pgsteal_direct"];
        lines.extend(names.iter().find_map(|name| told(&group, "memcg", name)));
    }
    lines
}

/// Pages that the machine reclaimed for want of memory.
fn stolen(machine: &Change<'_>) -> Option<f64> {
    let kswapd = machine.grown("vmstat", "pgsteal_kswapd")?;
    Some((kswapd + machine.grown("vmstat", "pgsteal_direct").unwrap_or(0)) as f64)
}

fn group_refaults(group: &Change<'_>) -> f64 {
    let names = ["workingset_refault_file", "total_workingset_refault_file"];
    group.grown_any("memcg", &names).unwrap_or(0) as f64
}

/// File pages of a group that came back because it is at its limit or beyond `high`.
fn refaults_at_limit(group: &Change<'_>) -> f64 {
    let level = |name: &str| group.level("memcg", name);
    let used = level("current_bytes").or(level("usage_in_bytes")).unwrap_or(0) as f64;
    let limit = [level("limit_bytes"), level("high_bytes")].into_iter().flatten().min();
    let pushed = ["events_max", "events_high", "failcnt"]
        .iter()
        .any(|name| group.grown("memcg", name).is_some_and(|events| events > 0));
    let is_near = limit.is_some_and(|limit| used >= NEAR_LIMIT * limit as f64);
    if pushed || is_near { group_refaults(group) } else { 0.0 }
}

fn price(
    interval: &Interval<'_>,
    costs: &UnitCosts,
    group: Option<&str>,
    traffic: &Traffic,
    unexplained: f64,
) -> Price {
    let of_reads = traffic.share_of_reads(unexplained);
    let measured = lost_of_tasks(interval, group, |task| task.ns("blkio") * of_reads);
    let by_faults = || {
        let cost = (costs, Operation::FileRefault);
        by_major_faults(interval, (group, unexplained), traffic, cost)
    };
    let pressure = || Some(part_of_wall(lost_of_pressure(interval, "io_some_us")?, of_reads));
    price_of_waits(measured, by_faults, pressure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{GROUP, Second};

    /// A second in which a group with room reads 500 pages again, which it waits 600 ms for.
    fn evicted() -> Second {
        Second::bare()
            .machine("vmstat", "pgpgin", 2000)
            .machine("vmstat", "pgpgout", 0)
            .machine("vmstat", "workingset_refault_file", 500)
            .machine("vmstat", "pgsteal_kswapd", 0)
            .group("memcg", "workingset_refault_file", 500)
            .group("memcg", "pgsteal_direct", 510)
            .group("memcg", "events_max", 0)
            .group_level("memcg", "current_bytes", 16 << 20)
            .group_level("memcg", "limit_bytes", 40 << 20)
            .task("taskstats", "blkio_delay_total_ns", 600_000_000)
    }

    #[test]
    fn pages_that_come_back_to_a_group_with_room_are_found() {
        let finding = evicted().found(&RULE);
        assert_eq!(
            (finding.lost().unwrap().lost_ns(), finding.lost().unwrap().share()),
            (600_000_000, 0.6)
        );
        assert_eq!(finding.scope, Scope::Group(GROUP.to_owned()));
        assert_eq!(finding.confidence, Confidence { agreeing: 3, asked: 3 });
        let priced = evicted()
            .without_task("taskstats")
            .machine("vmstat", "pgmajfault", 400)
            .task("task_stat", "majflt", 400)
            .cost(Operation::FileRefault, 100_000.0);
        assert_eq!(priced.found(&RULE).lost().unwrap().lost_ns(), 40_000_000);
    }

    #[test]
    fn what_a_balloon_takes_was_asked_for_too() {
        let reclaimed = evicted().machine("vmstat", "pgsteal_kswapd", 480);
        assert!(matches!(reclaimed.verdict(&RULE), Verdict::RuledOut(_)));
        let ballooned = reclaimed.machine("vmstat", "balloon_inflate", 480);
        assert_eq!(ballooned.found(&RULE).lost().unwrap().lost_ns(), 600_000_000);
    }

    #[test]
    fn a_limit_that_is_reached_explains_them() {
        for limited in [
            evicted().group_level("memcg", "current_bytes", 39 << 20),
            evicted().group("memcg", "events_max", 30),
            evicted().group_level("memcg", "high_bytes", 16 << 20),
        ] {
            assert!(matches!(limited.verdict(&RULE), Verdict::RuledOut(_)), "{limited:?}");
        }
        let cold = evicted().machine("vmstat", "workingset_refault_file", 0);
        assert!(matches!(cold.verdict(&RULE), Verdict::RuledOut(_)));
        assert_eq!(evicted().without_task("taskstats").unpriced(&RULE), None);
        assert!(matches!(Second::bare().verdict(&RULE), Verdict::Unable(_)));
    }
}
