//! The hypervisor evicts shadow page tables of a guest, and each fault is expensive.

use super::*;

/// Multiple of the cheapest first touch from which faults are expensive (methods.md, rule 5).
const EXPENSIVE: f64 = 3.0;

pub(crate) const RULE: Rule = Rule {
    name: "hypervisor-mmu",
    family: Family::Translation,
    about: "the hypervisor discards shadow page tables, so each fault is expensive",
    cost: "page faults x (cost of a first touch - the least of its repetitions), both calibrated, \
           as a share of the demanded CPU time",
    provocation: Provocation::None(
        "this needs a hypervisor with too few shadow page tables: a guest in QEMU without KVM has \
         none, and a guest may not change those of its host",
    ),
    remedy: "on the host: kernel.numa_balancing=0, two-dimensional paging (EPT, NPT), memory in \
             2 MiB pages",
    confirm: "on the host: mmu_recycled and mmu_cache_miss under /sys/kernel/debug/kvm",
    look,
};

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> RuleResult {
    let touch = costs.costs.get(&Operation::FirstTouch);
    let touch = touch.ok_or_else(|| unable("the cost of a first touch was not measured"))?;
    let faults = interval.needed("pgfault", "vmstat does not count page faults")?;
    let ratio = touch.ns / touch.least_ns.max(1.0);
    if ratio < EXPENSIVE {
        return ruled_out(format!("a first touch costs {ratio:.1} times what it costs at least"));
    }
    let time = CpuTime::in_interval(interval)
        .ok_or_else(|| unable("the CPU time of the machine is not known (/proc/stat)"))?;
    let price = Price::Known(time.lost(faults * (touch.ns - touch.least_ns)));
    let condition = format!(
        "a page fault costs {ratio:.1} times what it costs at best, and there were {faults}"
    );
    let found = RULE
        .of_machine(price, condition)
        .speaks("cost of a first touch per least cost", ratio, EXPENSIVE)
        .notes("vmstat/pgfault", faults)
        .notes("stat/cpu_steal_ticks", cpu_ticks(interval, "steal"));
    Ok(vec![found])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::LostTime;
    use crate::rule::NoFinding;
    use crate::sample::Second;

    fn dear() -> Second {
        // Four CPUs, of which two are idle.
        Second::bare()
            .machine("vmstat", "pgfault", 20_000)
            .machine("stat", "cpu_user_ticks", 200)
            .machine("stat", "cpu_idle_ticks", 200)
            .cost_between(Operation::FirstTouch, 12_000.0, 2_000.0)
    }

    #[test]
    fn faults_that_became_dear_are_found() {
        let finding = dear().found(&RULE);
        assert_eq!(finding.price, Price::Known(LostTime::of_cpus(2e8, 4, 2e9)));
        assert_eq!(finding.confidence, Confidence { agreeing: 2, asked: 2 });
    }

    #[test]
    fn faults_at_their_usual_cost_or_few_of_them_are_none() {
        let usual = dear().cost_between(Operation::FirstTouch, 5_900.0, 2_000.0);
        assert!(matches!(usual.verdict(&RULE), Err(NoFinding::RuledOut(_))));
        let few = dear().machine("vmstat", "pgfault", 900);
        assert!(matches!(few.verdict(&RULE), Err(NoFinding::RuledOut(_))));
        assert!(matches!(Second::bare().verdict(&RULE), Err(NoFinding::Unable(_))));
    }
}
