//! Threads sleep in the kernel for a lock that another thread has.

use super::*;

/// What a rule needs to know where threads sleep.
const NO_SLEEPS: &str = "this needs the time that threads sleep in the kernel (Linux 5.16, sysctl \
                         kernel.sched_schedstats=1)";

pub(crate) const RULE: Rule = Rule {
    name: "lock-contention",
    family: Family::Locks,
    about: "threads sleep in the kernel for a lock, such as that of their address space",
    cost: "time asleep in the kernel where no signal wakes (schedstats) - waits for devices, memory \
           and compaction of each task - time in which anything waited for I/O or memory (PSI, some)",
    provocation: Provocation::Load("provoke-lock-contention"),
    remedy: "fewer changes of one address space (mmap, munmap, mprotect, fork) next to page faults of \
             its other threads, or processes in place of threads; fewer changes of one directory or file",
    confirm: "cat /proc/PID/task/*/stack, repeatedly; perf lock contention -a -b sleep 5",
    look,
};

fn look(interval: &Interval<'_>, _: &UnitCosts) -> RuleResult {
    // An idle thread of the kernel sleeps like that, too.
    let is_program = |task: &Task<'_>| !task.counters.is_kernel_thread();
    if !interval.tasks().any(|task| is_program(&task) && slept(&task.counters).is_some()) {
        return Err(unable(NO_SLEEPS));
    }
    // Who has a lock may wait for a device meanwhile; then this is not the place to look at.
    let pressure = |total| interval.machine().pressure("psi", total);
    let (Some(io), Some(memory)) = (pressure("io_some_us"), pressure("memory_some_us")) else {
        return Err(unable("this kernel has no pressure files (CONFIG_PSI, psi=1)"));
    };
    let pressed_ns = (io.lost_ns + memory.lost_ns) as f64;
    let affected = affected(interval, |task| {
        let counted = is_program(task).then(|| slept(&task.counters)).flatten();
        let Slept { blocked_ns, iowait_ns, threads } = counted?;
        // A sleep is counted when it ends, also one that began before.
        let blocked_ns = blocked_ns.min(interval.elapsed_ns() as f64 * threads);
        let known_ns = ["freepages", "compact"].map(|name| task.counters.delay_ns(name));
        let others_ns = iowait_ns.max(pressed_ns * threads) + known_ns.iter().sum::<f64>();
        Some((blocked_ns - others_ns).max(0.0))
    });
    let findings = affected.unwrap_or_default().into_iter().map(|who| {
        let condition = format!(
            "{} sleeps in the kernel for neither a device nor memory: for a lock, or for a thread of \
             the kernel",
            who.who()
        );
        RULE.finding_of(&who, true, condition)
            .notes("share of time with a wait for I/O (PSI some)", io.lost_share)
    });
    verdict_of_work(findings.collect(), (true, ""), || {
        "no process sleeps in the kernel for 1 % of its time, but for devices and memory".to_owned()
    })
}

/// The time that threads slept in the kernel.
struct Slept {
    blocked_ns: f64,
    /// The part of it that was for devices.
    iowait_ns: f64,
    /// How many threads did.
    threads: f64,
}

/// Sums the sleep of all threads of a process; takes the first thread's, if only that is known.
fn slept(counters: &Change<'_>) -> Option<Slept> {
    let by_thread = "thread_blocked_ns";
    if !counters.has(by_thread) {
        let of = |name| counters.grown("sched", name);
        let threads = counters.level("sched", "tasks").unwrap_or(1.0);
        return Some(Slept { blocked_ns: of("blocked_ns")?, iowait_ns: of("iowait_ns")?, threads });
    }
    let blocked: Vec<f64> =
        counters.grown_each(by_thread).map(|(_, ns)| ns).filter(|ns| *ns > 0.0).collect();
    let iowait_ns = counters.grown_each("thread_iowait_ns").map(|(_, ns)| ns).sum();
    Some(Slept { blocked_ns: blocked.iter().sum(), iowait_ns, threads: blocked.len() as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::NoFinding;
    use crate::sample::Second;

    /// A process that slept 600 ms in the kernel, 100 of it for a device.
    fn waits() -> Second {
        Second::bare()
            .machine("psi", "io_some_us", 0)
            .machine("psi", "memory_some_us", 0)
            .task("sched", "blocked_ns", 600_000_000)
            .task("sched", "iowait_ns", 100_000_000)
    }

    #[test]
    fn sleep_that_is_for_no_device_is_found() {
        let found = waits().found(&RULE);
        assert_eq!(found.lost().unwrap().lost_ns, 500_000_000);
        let counted = waits().task("taskstats", "compact_delay_total_ns", 200_000_000);
        assert_eq!(counted.found(&RULE).lost().unwrap().lost_ns, 300_000_000);
        let threads = waits()
            .task("thread_blocked_ns", "7", 900_000_000)
            .task("thread_blocked_ns", "8", 0)
            .task("thread_iowait_ns", "7", 200_000_000);
        assert_eq!(threads.found(&RULE).lost().unwrap().lost_ns, 700_000_000);
    }

    #[test]
    fn a_sleep_that_began_long_before_counts_with_its_last_second() {
        let long = Second::bare()
            .machine("psi", "io_some_us", 900_000)
            .machine("psi", "memory_some_us", 0)
            .task("sched", "blocked_ns", 60_000_000_000)
            .task("sched", "iowait_ns", 0);
        assert_eq!(long.found(&RULE).lost().unwrap().lost_ns, 100_000_000);
    }

    #[test]
    fn waits_of_others_for_devices_and_memory_rule_it_out() {
        let pressed = |total| waits().machine("psi", total, 595_000).ruled_out(&RULE);
        assert!(pressed("io_some_us").contains("no process sleeps"));
        assert!(pressed("memory_some_us").contains("no process sleeps"));
        let kernel = waits().task_level("task_status", "Threads", 1);
        assert!(kernel.unable(&RULE).contains("sched_schedstats"), "a thread of the kernel");
    }

    #[test]
    fn without_the_switch_or_pressure_it_cannot_tell() {
        assert!(Second::bare().unable(&RULE).contains("kernel.sched_schedstats=1"));
        let alone =
            Second::bare().task("sched", "blocked_ns", 600_000_000).task("sched", "iowait_ns", 0);
        assert!(matches!(alone.verdict(&RULE), Err(NoFinding::Unable(why)) if why.contains("PSI")));
    }
}
