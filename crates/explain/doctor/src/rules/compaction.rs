//! Processes wait while pages are moved to make room for a huge page.

use super::*;

/// Share of failed compactions from which they are wasted (methods.md, rule 7).
const FAIL_SHARE: f64 = 0.5;

pub(crate) const RULE: Rule = Rule {
    name: "compaction",
    family: Family::Compaction,
    about: "processes wait for pages to be moved, to make room for huge pages",
    cost: "compaction delay of each task; without delays: at least the pressure of memory (some), \
           where nothing was reclaimed",
    provocation: Provocation::Load("provoke-compaction"),
    remedy: "echo defer+madvise > /sys/kernel/mm/transparent_hugepage/defrag, or no \
             MADV_HUGEPAGE; vm.compaction_proactiveness lets the kernel compact beforehand",
    confirm: "grep -E 'compact_|thp_fault' /proc/vmstat; cat /proc/buddyinfo",
    look,
};

fn look(interval: &Interval<'_>, _: &UnitCosts) -> RuleResult {
    let stalls = interval.needed("compact_stall", "this kernel does not compact memory")?;
    if stalls == 0.0 {
        return ruled_out("no allocation waited for compaction");
    }
    let counts = |task: Task<'_>| task.counters.grown("taskstats", "compact_delay_total_ns");
    let is_counted = interval.tasks().any(|task| counts(task).is_some());
    let lost = || lost_of_tasks(interval, None, |task| task.delay_ns("compact"));
    // Reclaim counts as pressure of memory too.
    let is_alone = interval.vmstat("pgsteal_direct") == Some(0.0);
    let pressure = || interval.machine().pressure("psi", "memory_some_us");
    let unknown = || Price::unknown(NO_DELAYS, is_alone.then(pressure).flatten());
    let price = is_counted.then(lost).flatten().map_or_else(unknown, Price::Known);
    let fails = interval.vmstat("compact_fail").unwrap_or(0.0);
    let condition =
        format!("{stalls} allocations waited for compaction, {fails} of them for nothing");
    let mut found = RULE
        .of_machine(price, condition)
        .speaks("vmstat/compact_stall", stalls, 1.0)
        .speaks("vmstat/compact_fail per stall", fails / stalls, FAIL_SHARE);
    for name in ["compact_migrate_scanned", "thp_fault_alloc", "thp_fault_fallback"] {
        found = found.notes(format!("vmstat/{name}"), interval.vmstat(name));
    }
    found.if_frequent(interval, stalls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::LostTime;
    use crate::rule::NoFinding;
    use crate::sample::Second;

    fn stalls() -> Second {
        Second::bare()
            .machine("vmstat", "compact_stall", 40)
            .machine("vmstat", "compact_fail", 30)
            .machine("vmstat", "pgsteal_direct", 0)
            .task("taskstats", "compact_delay_total_ns", 600_000_000)
    }

    #[test]
    fn waits_for_compaction_are_found() {
        let finding = stalls().found(&RULE);
        assert_eq!(
            (finding.lost().unwrap().lost_ns, finding.lost().unwrap().lost_share),
            (600_000_000, 0.6)
        );
        assert_eq!(finding.confidence, Confidence { agreeing: 3, asked: 3 });
    }

    #[test]
    fn compaction_that_nobody_waits_for_is_none() {
        let none = stalls().machine("vmstat", "compact_stall", 0);
        assert!(matches!(none.verdict(&RULE), Err(NoFinding::RuledOut(_))));
        let short = stalls().task("taskstats", "compact_delay_total_ns", 9_000_000);
        assert!(
            matches!(short.verdict(&RULE), Err(NoFinding::RuledOut(why)) if why.contains("less than 1 %"))
        );
    }

    #[test]
    fn pressure_stands_in_where_nothing_was_reclaimed() {
        let bare = stalls().without_task("taskstats").machine("psi", "memory_some_us", 200_000);
        assert_eq!(bare.unpriced(&RULE), Some(LostTime::of_wall(2e8, 1_000_000_000)));
        let reclaimed = bare.machine("vmstat", "pgsteal_direct", 5);
        assert_eq!(reclaimed.unpriced(&RULE), None);
        let few =
            reclaimed.machine("vmstat", "compact_stall", 4).machine("vmstat", "compact_fail", 4);
        assert!(few.unable(&RULE).contains("kernel.task_delayacct"));
        assert!(matches!(Second::bare().verdict(&RULE), Err(NoFinding::Unable(_))));
    }
}
