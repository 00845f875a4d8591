//! A process changes its address space, which interrupts the CPUs of its other threads.

use super::*;

/// CPUs busy in the kernel below which a process causes no storm.
const SYSTEM_CPUS: f64 = 0.05;
/// Interrupts per second that are a storm at any cost: at 10 us each, 1 % of a CPU.
const STORM_PER_S: f64 = 1000.0;
/// Threads stopped by an interrupt: the one that waits, at the calibrated cost, and the one that
/// answers, for about as long.
const STOPPED: f64 = 2.0;

pub(crate) const RULE: Rule = Rule {
    name: "shootdown",
    family: Family::Translation,
    about: "changes of an address space repeatedly interrupt the CPUs of its other threads",
    cost: "TLB interrupts x cost of one (calibrated) x 2 threads that it stops, shared out by time \
           in the kernel; \
           without a cost at most that time",
    provocation: Provocation::Load("provoke-shootdown"),
    remedy: "change many pages with one call, use MADV_FREE and slower decay in the allocator, \
             no mprotect for single pages; or keep the process on fewer CPUs",
    confirm: "strace -f -c -e trace=madvise,mprotect,munmap -p PID",
    look,
};

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> RuleResult {
    let machine = interval.machine();
    let interrupts = machine.grown("interrupts", "TLB").ok_or_else(|| {
        unable(
            "there is no line TLB in /proc/interrupts: on aarch64 a CPU flushes the TLBs of \
             others without interrupts",
        )
    })?;
    let per_s = interrupts / interval.seconds();
    let calls = machine.grown("interrupts", "CAL");
    let cost_ns = costs.ns(Operation::TlbShootdown);
    // Only a process with several threads interrupts others.
    let system_ns = |task: &Task<'_>| {
        let has_threads = task.counters.level("task_stat", "threads").is_some_and(|it| it > 1.0);
        has_threads.then(|| task.counters.cpu_ns("stime_ticks"))
    };
    let all_ns: f64 = interval.tasks().filter_map(|task| system_ns(&task)).sum();
    let affected = affected(interval, |task| {
        let own_ns = system_ns(task)?;
        let share = own_ns / all_ns.max(1.0);
        Some(cost_ns.map_or(own_ns, |ns| STOPPED * interrupts * share * ns))
    });
    let affected = affected.unwrap_or_default();
    let storms = affected.iter().filter(|who| who.system_cpus(interval) >= SYSTEM_CPUS);
    let findings = storms.map(|who| {
        let condition = format!(
            "{} changes its address space while its other threads run: {per_s:.0} TLB interrupts a \
             second",
            who.who()
        );
        let least_per_s = cost_ns.is_none().then_some(STORM_PER_S);
        RULE.finding_of(who, cost_ns.is_some(), condition)
            .speaks("interrupts/TLB per s", per_s, least_per_s)
            .speaks("CPUs busy in the kernel, a process", who.system_cpus(interval), SYSTEM_CPUS)
            .notes("interrupts/CAL per s", calls.map(|calls| calls / interval.seconds()))
    });
    let missing = "the cost of a TLB shootdown was not measured";
    verdict_of_work(findings.collect(), (cost_ns.is_some(), missing), || {
        format!("{per_s:.0} TLB interrupts a second, and no process loses 1 % of its time to them")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Price;
    use crate::rule::NoFinding;
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
        assert_eq!((found.scope.clone(), found.lost().unwrap().lost_ns), (job(9), 600_000_000));
        assert_eq!((found.confidence.agreeing, found.confidence.asked), (2, 2));
    }

    #[test]
    fn they_are_shared_out_by_time_in_the_kernel() {
        let other = [("task_stat", "threads", 4), ("task_stat", "stime_ticks", 80)];
        let found = storm(200_000, 2).with_task(10, Some("/b"), &other).verdict(&RULE);
        let Ok(found) = found else { panic!("{found:?}") };
        let lost: Vec<u64> = found.iter().map(|one| one.lost().unwrap().lost_ns).collect();
        let shares: Vec<f64> = found.iter().map(|one| one.lost().unwrap().lost_share).collect();
        assert_eq!(shares, [0.1, 0.05], "of two threads, and of four");
        assert_eq!(lost, [200_000_000, 200_000_000]);
    }

    #[test]
    fn switching_alone_and_single_threads_are_healthy() {
        assert!(storm(100, 2).ruled_out(&RULE).contains("100 TLB"));
        assert!(storm(300_000, 1).ruled_out(&RULE).contains("no process loses"));
    }

    #[test]
    fn without_counter_or_cost_it_cannot_tell() {
        assert!(Second::of_machine(&[]).unable(&RULE).contains("/proc/interrupts"));
        let verdict = storm(1, 2).verdict_with(&RULE, &UnitCosts::default());
        assert!(matches!(verdict, Err(NoFinding::Unable(reason)) if reason.contains("cost")));
        // A storm by its number costs at most all the time in the kernel.
        let found = storm(300_000, 2).verdict_with(&RULE, &UnitCosts::default());
        let Ok(found) = found else { panic!("{found:?}") };
        assert_eq!(found[0].price, Price::Known(LostTime::of_threads(8e8, 2, 2e9).at_most()));
    }
}
