//! The kernel unmaps pages to see which node uses them, and each touch is a fault.

use super::*;

/// Unmapping one page, in ns (methods.md, rule 8: 0.1 µs).
const UPDATE_NS: f64 = 100.0;
/// Share of local faults from which balancing gains nothing: the kernel itself slows down from 7
/// slots of 10 (`NUMA_PERIOD_THRESHOLD`).
const LOCAL_SHARE: f64 = 0.7;

pub(crate) const RULE: Rule = Rule {
    name: "numa-hinting",
    family: Family::Faults,
    about: "automatic NUMA balancing unmaps pages, and each touch of them is a fault",
    cost: "hinting faults x cost of mapping a page + pages moved x cost of copying one \
           (calibrated) + page-table updates x 0.1 us; without costs: system time x hinting faults \
           / all faults; as a share of the demanded CPU time",
    provocation: Provocation::Load("provoke-numa-hinting"),
    remedy: "sysctl kernel.numa_balancing=0, or bind the process and its memory to a node \
             (numactl --cpunodebind --membind)",
    confirm: "grep numa_ /proc/vmstat; numastat -p PID",
    look,
};

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> RuleResult {
    let faults = interval.needed("numa_hint_faults", "this kernel does not balance NUMA nodes")?;
    if faults == 0.0 {
        return ruled_out("there was no NUMA hinting fault");
    }
    let price = price(interval, costs, faults).ok_or_else(|| {
        unable(
            "neither the cost of mapping a page is known nor the CPU time of the machine (/proc/stat)",
        )
    })?;
    let local_share = interval.vmstat("numa_hint_faults_local").unwrap_or(0.0) / faults;
    let migrated = interval.vmstat("numa_pages_migrated").unwrap_or(0.0);
    let gain = if local_share >= LOCAL_SHARE {
        "nearly all from the node that the page is on already"
    } else {
        "many of them from another node than the page's"
    };
    let condition = format!("{faults} NUMA hinting faults, {gain}; {migrated} pages were moved");
    let found = RULE
        .of_machine(price, condition)
        .speaks("vmstat/numa_hint_faults", faults, 1.0)
        .notes("vmstat/numa_hint_faults_local per fault", local_share)
        .notes("vmstat/numa_pages_migrated", migrated)
        .speaks("vmstat/numa_pte_updates", interval.vmstat("numa_pte_updates"), 1.0);
    Ok(vec![found])
}

/// Its CPU time, out of the time in which tasks wanted CPUs; `None` if unknown.
fn price(interval: &Interval<'_>, costs: &UnitCosts, faults: f64) -> Option<Price> {
    let grown = |name: &str| interval.vmstat(name).unwrap_or(0.0);
    let calibrated = || {
        let moved_ns = costs.ns(Operation::CopyOnWrite).unwrap_or(0.0);
        Some(
            faults * costs.ns(Operation::MapPage)?
                + grown("numa_pages_migrated") * moved_ns
                + grown("numa_pte_updates") * UPDATE_NS,
        )
    };
    let of_system_time = || {
        let ticks = cpu_ticks(interval, "system")?;
        let all = interval.vmstat("pgfault")?.max(1.0);
        Some(ticks * TICK_NS * (faults / all).min(1.0))
    };
    let lost_ns = calibrated().or_else(of_system_time)?;
    Some(Price::Known(CpuTime::in_interval(interval)?.lost(lost_ns)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::LostTime;
    use crate::rule::NoFinding;
    use crate::sample::Second;

    fn storm() -> Second {
        Second::bare()
            .machine("vmstat", "numa_hint_faults", 90_000)
            .machine("vmstat", "numa_hint_faults_local", 30_000)
            .machine("vmstat", "numa_pte_updates", 100_000)
            .machine("vmstat", "numa_pages_migrated", 1_000)
            .machine("vmstat", "pgfault", 100_000)
            .machine("stat", "cpu_system_ticks", 30)
            .machine("stat", "cpu_user_ticks", 370)
    }

    #[test]
    fn a_storm_of_hinting_faults_is_priced_by_system_time_or_by_costs() {
        let finding = storm().found(&RULE);
        // All four CPUs are busy.
        assert_eq!(finding.price, Price::Known(LostTime::of_cpus(2.7e8, 4, 4e9)));
        assert!(finding.condition.contains("from another node"), "{}", finding.condition);
        assert_eq!(finding.confidence, Confidence { agreeing: 3, asked: 3 });
        let priced = storm().cost(Operation::MapPage, 500.0).cost(Operation::CopyOnWrite, 3_000.0);
        assert_eq!(
            priced.found(&RULE).lost().unwrap().lost_ns,
            45_000_000 + 3_000_000 + 10_000_000
        );
        let local = storm().machine("vmstat", "numa_hint_faults_local", 85_000);
        assert!(local.found(&RULE).condition.contains("on already"));
    }

    #[test]
    fn few_hinting_faults_among_many_faults_are_none() {
        let few = storm().machine("vmstat", "numa_hint_faults", 900);
        assert!(matches!(few.verdict(&RULE), Err(NoFinding::RuledOut(_))));
        let none = storm().machine("vmstat", "numa_hint_faults", 0);
        assert!(matches!(none.verdict(&RULE), Err(NoFinding::RuledOut(_))));
        assert!(matches!(Second::bare().verdict(&RULE), Err(NoFinding::Unable(_))));
    }
}
