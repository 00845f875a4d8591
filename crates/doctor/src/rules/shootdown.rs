//! Threads of a process change its address space, and every change interrupts the other CPUs.

use crate::affected::{Affected, Loss, by_scope, price, system_ns, without_cost};
use crate::{
    Confidence, Evidence, Family, Finding, Interval, Operation, Price, Provocation, Rule,
    UnitCosts, Verdict,
};

/// From this share of the time lost on it is evidence.
const LOST_SHARE: f64 = 0.05;
/// A process that keeps less of a CPU busy in the kernel does not cause a storm, however many other
/// threads it has.
const SYSTEM_CPUS: f64 = 0.05;
/// From so many interrupts a second on it is a storm whatever one costs: at 10 us each, 1 % of a
/// CPU.
const STORM_PER_S: f64 = 1000.0;

/// An interrupt stops two threads: the one that waits for the answer, whose wait is the calibrated
/// cost, and the one that answers, which is away for about as long.
const STOPPED: f64 = 2.0;

/// TLB shootdown storm.
pub(crate) const RULE: Rule = Rule {
    name: "shootdown",
    family: Family::Translation,
    about: "changes of an address space interrupt the CPUs of its other threads, over and over",
    cost: "TLB interrupts x cost of one (calibrated) x 2 threads that it stops, shared out by time \
           in the kernel; \
           without a cost at most that time",
    provocation: Provocation::Load("provoke-shootdown"),
    look,
};

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> Verdict {
    let Some(interrupts) = interval.machine().grown("interrupts", "TLB") else {
        return Verdict::Unable("there is no line TLB in /proc/interrupts".to_owned());
    };
    let cost_ns = costs.ns(Operation::TlbShootdown);
    // Only a process with several threads has others to interrupt.
    let suspects: Vec<_> = interval
        .tasks()
        .filter(|(_, _, change)| change.level("task_stat", "threads").is_some_and(|it| it > 1))
        .filter_map(|(pid, task, change)| {
            let ticks = change.grown("task_stat", "stime_ticks")?;
            Some((pid, task, change, ticks))
        })
        .collect();
    let all_ticks: u64 = suspects.iter().map(|(_, _, _, ticks)| ticks).sum();
    let losses: Vec<Loss<'_>> = suspects
        .iter()
        .map(|(pid, task, change, ticks)| {
            let share = *ticks as f64 / all_ticks.max(1) as f64;
            let lost_ns = cost_ns
                .map_or_else(|| system_ns(change), |ns| STOPPED * interrupts as f64 * share * ns);
            Loss::new(interval, (*pid, task, change), lost_ns)
        })
        .collect();
    let findings: Vec<Finding> = by_scope(&losses)
        .iter()
        .filter(|affected| affected.system_cpus(interval) >= SYSTEM_CPUS)
        .map(|affected| finding(interval, affected, interrupts, price(affected, cost_ns.is_some())))
        .collect();
    if cost_ns.is_none() && !findings.is_empty() {
        return without_cost(findings, "the cost of a TLB shootdown was not measured");
    }
    if findings.is_empty() {
        let seconds = interval.elapsed_ns().max(1) as f64 / 1e9;
        return Verdict::RuledOut(format!(
            "{:.0} TLB interrupts a second, by nobody who loses 1 % of its time",
            interrupts as f64 / seconds
        ));
    }
    Verdict::Found(findings)
}

fn finding(interval: &Interval<'_>, affected: &Affected, interrupts: u64, price: Price) -> Finding {
    let per_s = interrupts as f64 * 1e9 / interval.elapsed_ns().max(1) as f64;
    let system = affected.system_cpus(interval);
    let mut evidence = Vec::from_iter(price.evidence(LOST_SHARE));
    evidence.push(match price {
        Price::Known(lost) if lost.is_bound() => {
            Evidence::of("interrupts/TLB per s", per_s, STORM_PER_S)
        }
        _ => Evidence::told("interrupts/TLB per s", per_s),
    });
    evidence.push(Evidence::of("CPUs busy in the kernel, a process", system, SYSTEM_CPUS));
    let calls = interval.machine().per_s("interrupts", "CAL");
    evidence.extend(calls.map(|calls| Evidence::told("interrupts/CAL per s", calls)));
    Finding {
        rule: RULE.name,
        family: RULE.family,
        scope: affected.scope.clone(),
        condition: format!(
            "{} changes its address space beside its other threads: {per_s:.0} TLB interrupts a \
             second",
            affected.who()
        ),
        price,
        confidence: Confidence::from(evidence.as_slice()),
        evidence,
        counterfactual: None,
        remedy:
            "change many pages with one call, use MADV_FREE and slower decay in the allocator, \
                 no mprotect for single pages; or keep the process on fewer CPUs"
                .to_owned(),
        confirm: affected
            .command(|pid| format!("strace -f -c -e trace=madvise,mprotect,munmap -p {pid}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Second, job};
    use crate::{LostTime, UnitCosts};

    fn storm(interrupts: u64, threads: u64) -> Second {
        Second::of_machine(&[("interrupts", "TLB", interrupts)]).with_task(
            9,
            None,
            &[("task_stat", "threads", threads), ("task_stat", "stime_ticks", 80)],
        )
    }

    #[test]
    fn interrupts_are_priced() {
        let found = storm(300_000, 2).found(&RULE);
        assert_eq!((found.scope.clone(), found.lost().unwrap().lost_ns()), (job(9), 600_000_000));
        assert_eq!((found.confidence.agreeing, found.confidence.asked), (2, 2));
    }

    #[test]
    fn they_are_shared_out_by_time_in_the_kernel() {
        let other = [("task_stat", "threads", 4), ("task_stat", "stime_ticks", 80)];
        let found = storm(200_000, 2).with_task(10, Some("/b"), &other).verdict(&RULE);
        let Verdict::Found(found) = found else { panic!("{found:?}") };
        let lost: Vec<u64> = found.iter().map(|one| one.lost().unwrap().lost_ns()).collect();
        let shares: Vec<f64> = found.iter().map(|one| one.lost().unwrap().share()).collect();
        assert_eq!(shares, [0.1, 0.05], "of two threads, and of four");
        assert_eq!(lost, [200_000_000, 200_000_000]);
    }

    #[test]
    fn switching_alone_and_single_threads_are_healthy() {
        assert!(storm(100, 2).ruled_out(&RULE).contains("100 TLB"));
        assert!(storm(300_000, 1).ruled_out(&RULE).contains("nobody"));
    }

    #[test]
    fn without_counter_or_cost_it_cannot_tell() {
        assert!(Second::of_machine(&[]).unable(&RULE).contains("/proc/interrupts"));
        let verdict = storm(1, 2).verdict_with(&RULE, &UnitCosts::default());
        assert!(matches!(verdict, Verdict::Unable(reason) if reason.contains("cost")));
        // A storm by its number costs at most all the time in the kernel.
        let found = storm(300_000, 2).verdict_with(&RULE, &UnitCosts::default());
        let Verdict::Found(found) = found else { panic!("{found:?}") };
        assert_eq!(found[0].price, Price::Known(LostTime::of_threads(8e8, 2, 2e9).at_most()));
    }
}
