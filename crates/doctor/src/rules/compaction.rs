//! Processes wait until pages have been moved about, so that a huge page can be had.

use crate::evidence::NOTE_SHARE;
use crate::waits::{NO_DELAYS, lost_of_pressure, lost_of_tasks};
use crate::{
    Confidence, Evidence, Family, Finding, Interval, Price, Provocation, Rule, Scope, UnitCosts,
    Verdict,
};

/// From this share of compactions that came to nothing on, they are wasted (methods.md, rule 7).
const FAIL_SHARE: f64 = 0.5;

/// Direct compaction.
pub(crate) const RULE: Rule = Rule {
    name: "compaction",
    family: Family::Compaction,
    about: "processes wait for pages to be moved, to make room for huge pages",
    cost: "compaction delay of each task; without delays: at least the pressure of memory (some), \
           where nothing was reclaimed",
    provocation: Provocation::None(
        "in guests with memory full of holes the kernel does make processes wait (8 stalls of \
         40 ms), but after a second or two it defers compaction and hands out small pages, so \
         that no loss lasts long enough to be measured",
    ),
    look,
};

fn look(interval: &Interval<'_>, _: &UnitCosts) -> Verdict {
    let machine = interval.machine();
    let grown = |name: &str| machine.grown("vmstat", name).map(|value| value as f64);
    let Some(stalls) = grown("compact_stall") else {
        return Verdict::Unable("this kernel does not compact memory".to_owned());
    };
    if stalls == 0.0 {
        return Verdict::RuledOut("no allocation waited for compaction".to_owned());
    }
    let price = price(interval);
    if price.is_negligible() {
        return Verdict::RuledOut(format!(
            "{stalls} allocations waited for compaction, less than 1 % of anybody's time"
        ));
    }
    let fails = grown("compact_fail").unwrap_or(0.0);
    let mut evidence = Vec::from_iter(price.evidence(NOTE_SHARE));
    evidence.push(Evidence::of("vmstat/compact_stall", stalls, 1.0));
    evidence.push(Evidence::of("vmstat/compact_fail per stall", fails / stalls, FAIL_SHARE));
    for name in ["compact_migrate_scanned", "thp_fault_alloc", "thp_fault_fallback"] {
        evidence.extend(grown(name).map(|value| Evidence::told(format!("vmstat/{name}"), value)));
    }
    let found = Finding {
        rule: RULE.name,
        family: RULE.family,
        scope: Scope::Machine,
        condition: format!(
            "{stalls} allocations waited for compaction, {fails} of them for nothing"
        ),
        price,
        confidence: Confidence::from(evidence.as_slice()),
        evidence,
        counterfactual: None,
        remedy: "echo defer+madvise > /sys/kernel/mm/transparent_hugepage/defrag, or no \
                 MADV_HUGEPAGE; vm.compaction_proactiveness lets the kernel compact beforehand"
            .to_owned(),
        confirm: "grep -E 'compact_|thp_fault' /proc/vmstat; cat /proc/buddyinfo".to_owned(),
    };
    found.verdict(interval, stalls)
}

fn price(interval: &Interval<'_>) -> Price {
    let is_told = interval
        .tasks()
        .any(|(_, _, change)| change.grown("taskstats", "compact_delay_total_ns").is_some());
    let measured = || lost_of_tasks(interval, None, |task| task.ns("compact"));
    if let Some(lost) = is_told.then(measured).flatten() {
        return Price::Known(lost);
    }
    // Both are counted as pressure of memory.
    let is_alone = interval.machine().grown("vmstat", "pgsteal_direct") == Some(0);
    let pressure = || lost_of_pressure(interval, "memory_some_us");
    Price::unknown(NO_DELAYS, is_alone.then(pressure).flatten())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LostTime;
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
            (finding.lost().unwrap().lost_ns(), finding.lost().unwrap().share()),
            (600_000_000, 0.6)
        );
        assert_eq!(finding.confidence, Confidence { agreeing: 3, asked: 3 });
    }

    #[test]
    fn compaction_that_nobody_waits_for_is_none() {
        let none = stalls().machine("vmstat", "compact_stall", 0);
        assert!(matches!(none.verdict(&RULE), Verdict::RuledOut(_)));
        let short = stalls().task("taskstats", "compact_delay_total_ns", 9_000_000);
        assert!(
            matches!(short.verdict(&RULE), Verdict::RuledOut(why) if why.contains("less than 1 %"))
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
        assert!(matches!(Second::bare().verdict(&RULE), Verdict::Unable(_)));
    }
}
