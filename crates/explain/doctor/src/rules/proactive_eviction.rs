//! Pages are evicted on request although there is room, and read again.

use super::*;

/// Share of its limit from which a group evicts because of it (methods.md, rule 1).
const NEAR_LIMIT: f64 = 0.95;
/// Share of refaults from which neither the machine nor a limit explains them.
const UNEXPLAINED_SHARE: f64 = 0.5;

pub(crate) const RULE: Rule = Rule {
    name: "proactive-eviction",
    family: Family::Reclaim,
    about: "pages are evicted that there is room for (memory.reclaim, DAMON, a balloon)",
    cost: "of each task: block I/O delay x refaults that neither the machine nor a limit explains / \
           pages read; without delays: major faults of each task x the same share x cost of one \
           (calibrated), or at least the pressure of I/O (some) x the same share",
    provocation: Provocation::Load("provoke-proactive-eviction"),
    remedy: "find who requests it: a daemon that writes memory.reclaim, a DAMON scheme \
             (/sys/kernel/mm/damon/admin), a balloon of the host; exempt this from it, or note it \
             next to what is measured",
    confirm: "grep -r . /sys/kernel/mm/damon/admin/kdamonds/*/contexts/*/schemes/*/action; \
              grep -E 'balloon|proactive' /proc/vmstat",
    look,
};

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> RuleResult {
    let missing = || unable("vmstat does not count what was reclaimed and came back");
    let traffic = Traffic::in_interval(interval).ok_or_else(missing)?;
    let direct = interval.vmstat("pgsteal_direct").unwrap_or(0.0);
    let stolen = interval.vmstat("pgsteal_kswapd").ok_or_else(missing)? + direct;
    let refaults = traffic.file_refaults;
    if refaults == 0.0 {
        return ruled_out("no file page came back");
    }
    // A balloon reclaims its pages.
    let ballooned = interval.vmstat("balloon_inflate").unwrap_or(0.0);
    // Not `sum`, which is -0 of nothing.
    let limited = interval.groups().fold(0.0, |sum, (_, group)| sum + refaults_at_limit(&group));
    let unexplained = refaults - limited - (stolen - ballooned).max(0.0);
    if unexplained < UNEXPLAINED_SHARE * refaults {
        return ruled_out(format!(
            "{refaults} file pages came back; the machine reclaimed {stolen} for lack of memory, \
             and {limited} were of control groups at their limit"
        ));
    }
    let group = interval.groups().find(|(_, group)| {
        let refaults = group.file_refaults().unwrap_or(0.0);
        refaults >= UNEXPLAINED_SHARE * unexplained && refaults_at_limit(group) == 0.0
    });
    let (path, group) = group.unzip();
    let of_reads = traffic.share_of_reads(unexplained);
    let price = Waits {
        group: path,
        reads: Some((unexplained, costs.ns(Operation::FileRefault))),
        pressure: ("io_some_us", of_reads),
    }
    .price(interval, &traffic, |task| task.delay_ns("blkio") * of_reads);
    let scope = path.map_or(Scope::Machine, |path| Scope::Group(path.to_owned()));
    let condition = format!(
        "{unexplained} file pages came back that there was room for: something evicts them"
    );
    let mut found = RULE
        .finding(scope, price, condition)
        .lost_from(NOTE_SHARE)
        .speaks("unexplained share of refaults", unexplained / refaults, UNEXPLAINED_SHARE)
        .notes("vmstat/workingset_refault_file", refaults)
        .notes("vmstat/pgsteal (kswapd and direct)", stolen);
    for (counter, events) in orders(&interval.machine(), group) {
        found = found.speaks(counter, events, 1.0);
    }
    found.if_frequent(interval, unexplained)
}

/// Counters that show the requester, if they have grown.
fn orders(machine: &Change<'_>, group: Option<Change<'_>>) -> Vec<(String, f64)> {
    let grown = |change: &Change<'_>, source: &str, name: &str| {
        let grown = change.grown(source, name).filter(|grown| *grown > 0.0)?;
        Some((format!("{source}/{name}"), grown))
    };
    let of_machine = ["pgsteal_proactive", "balloon_inflate"];
    let of_machine = of_machine.iter().filter_map(|name| grown(machine, "vmstat", name));
    // Kernels before 2025 count it as direct reclaim of the group.
    let of_group = ["pgsteal_proactive", "pgsteal_direct"];
    let of_group =
        group.and_then(|group| of_group.iter().find_map(|name| grown(&group, "memcg", name)));
    of_machine.chain(of_group).collect()
}

/// File refaults of a group that is at its limit or above `high`.
fn refaults_at_limit(group: &Change<'_>) -> f64 {
    let used = group.level_any("memcg", &["current_bytes", "usage_in_bytes"]).unwrap_or(0.0);
    let limits = ["limit_bytes", "high_bytes"];
    let is_near = |name| group.level("memcg", name).is_some_and(|limit| used >= NEAR_LIMIT * limit);
    let events = ["events_max", "events_high", "failcnt"];
    let is_pushed = |name| group.grown("memcg", name).is_some_and(|events| events > 0.0);
    let is_at_limit = limits.into_iter().any(is_near) || events.into_iter().any(is_pushed);
    group.file_refaults().filter(|_| is_at_limit).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::rule::NoFinding;
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
            (finding.lost().unwrap().lost_ns, finding.lost().unwrap().lost_share),
            (600_000_000, 0.6)
        );
        assert_eq!(finding.scope, Scope::Group(GROUP.to_owned()));
        assert_eq!(finding.confidence, Confidence { agreeing: 3, asked: 3 });
        let priced = evicted()
            .without_task("taskstats")
            .machine("vmstat", "pgmajfault", 400)
            .task("task_stat", "majflt", 400)
            .cost(Operation::FileRefault, 100_000.0);
        assert_eq!(priced.found(&RULE).lost().unwrap().lost_ns, 40_000_000);
    }

    #[test]
    fn what_a_balloon_takes_was_asked_for_too() {
        let reclaimed = evicted().machine("vmstat", "pgsteal_kswapd", 480);
        assert!(matches!(reclaimed.verdict(&RULE), Err(NoFinding::RuledOut(_))));
        let ballooned = reclaimed.machine("vmstat", "balloon_inflate", 480);
        assert_eq!(ballooned.found(&RULE).lost().unwrap().lost_ns, 600_000_000);
    }

    #[test]
    fn a_limit_that_is_reached_explains_them() {
        for limited in [
            evicted().group_level("memcg", "current_bytes", 39 << 20),
            evicted().group("memcg", "events_max", 30),
            evicted().group_level("memcg", "high_bytes", 16 << 20),
        ] {
            assert!(matches!(limited.verdict(&RULE), Err(NoFinding::RuledOut(_))), "{limited:?}");
        }
        let cold = evicted().machine("vmstat", "workingset_refault_file", 0);
        assert!(matches!(cold.verdict(&RULE), Err(NoFinding::RuledOut(_))));
        assert_eq!(evicted().without_task("taskstats").unpriced(&RULE), None);
        assert!(matches!(Second::bare().verdict(&RULE), Err(NoFinding::Unable(_))));
    }
}
