//! The hypervisor's copies of a guest's page tables do not fit, and each fault is dear: what pmegs
//! were to the Sun-4.

use crate::cpu_time::CpuTime;
use crate::evidence::NOTE_SHARE;
use crate::{
    Confidence, Evidence, Family, Finding, Interval, Operation, Price, Provocation, Rule, Scope,
    UnitCosts, Verdict,
};

/// From this multiple of the cheapest first touch on, faults are dear (methods.md, rule 5).
const DEAR: f64 = 3.0;

/// Thrash of a hypervisor's page tables, as seen from its guest.
pub(crate) const RULE: Rule = Rule {
    name: "hypervisor-mmu",
    family: Family::Translation,
    about: "the hypervisor takes copies of page tables away, and each fault is dear",
    cost: "page faults x (cost of a first touch - the least of its repetitions), both calibrated, \
           out of the CPU time that was wanted",
    provocation: Provocation::None(
        "it takes a hypervisor with too few shadow page tables: a guest in QEMU without KVM has \
         none, and a guest may not change those of its host",
    ),
    look,
};

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> Verdict {
    let Some(touch) = costs.costs.get(&Operation::FirstTouch) else {
        return Verdict::Unable("the cost of a first touch was not measured".to_owned());
    };
    let machine = interval.machine();
    let Some(faults) = machine.grown("vmstat", "pgfault").map(|faults| faults as f64) else {
        return Verdict::Unable("vmstat does not tell the page faults".to_owned());
    };
    let dearer = touch.ns / touch.least_ns.max(1.0);
    if dearer < DEAR {
        return Verdict::RuledOut(format!(
            "a first touch costs {dearer:.1} times what it costs at least"
        ));
    }
    let Some(time) = CpuTime::in_interval(interval) else {
        return Verdict::Unable("the CPU time of the machine is not known (/proc/stat)".to_owned());
    };
    let price = Price::Known(time.lost(faults * (touch.ns - touch.least_ns)));
    if price.is_negligible() {
        return Verdict::RuledOut(format!("{faults} page faults are too few to matter"));
    }
    let mut evidence = Vec::from_iter(price.evidence(NOTE_SHARE));
    evidence.extend([
        Evidence::of("cost of a first touch per least cost", dearer, DEAR),
        Evidence::told("vmstat/pgfault", faults),
    ]);
    if let Some(steal) = machine.grown("stat", "cpu_steal_ticks") {
        evidence.push(Evidence::told("stat/cpu_steal_ticks", steal as f64));
    }
    Verdict::Found(vec![Finding {
        rule: RULE.name,
        family: RULE.family,
        scope: Scope::Machine,
        condition: format!(
            "a page fault costs {dearer:.1} times what it costs at best, and there were {faults}"
        ),
        price,
        confidence: Confidence::from(evidence.as_slice()),
        evidence,
        counterfactual: None,
        remedy:
            "on the host: kernel.numa_balancing=0, two-dimensional paging (EPT, NPT), memory in \
                 2 MiB pages"
                .to_owned(),
        confirm: "on the host: mmu_recycled and mmu_cache_miss under /sys/kernel/debug/kvm"
            .to_owned(),
    }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LostTime;
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
        assert!(matches!(usual.verdict(&RULE), Verdict::RuledOut(_)));
        let few = dear().machine("vmstat", "pgfault", 900);
        assert!(matches!(few.verdict(&RULE), Verdict::RuledOut(_)));
        assert!(matches!(Second::bare().verdict(&RULE), Verdict::Unable(_)));
    }
}
