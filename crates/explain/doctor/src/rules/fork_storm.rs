//! A process with much memory forks, and its pages are copied.

use super::*;

/// Share of its memory copied per second from which a process copies for its forks.
const COPIED_PER_S: f64 = 0.5;

pub(crate) const RULE: Rule = Rule {
    name: "fork-storm",
    family: Family::Faults,
    about: "a large process forks repeatedly, and its pages are copied",
    cost: "forks x pages x cost of a fork for each page + copies x cost of one (calibrated); \
           without costs at most the time in the kernel",
    provocation: Provocation::Load("provoke-fork-storm"),
    remedy: "start programs with posix_spawn or vfork, fork from a small process, save less \
             often; no huge pages for what is saved by forking",
    confirm: "strace -f -c -e trace=fork,vfork,clone,clone3 -p PID",
    look,
};

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> RuleResult {
    let unit_ns = costs.ns(Operation::ForkPage).zip(costs.ns(Operation::CopyOnWrite));
    let forks = interval.machine().grown("stat", "processes");
    let forks = forks.ok_or_else(|| unable("forks are not counted (/proc/stat processes)"))?;
    let affected = affected(interval, |task| {
        let pages = anonymous_pages(interval, &task.counters)?;
        let copies = split(interval, task)?.copies;
        // A task gets as many of the machine's forks as its copies require.
        let own = if pages > 0.0 { (copies / pages).ceil().min(forks) } else { 0.0 };
        Some(match unit_ns {
            Some((fork_ns, copy_ns)) => own * pages * fork_ns + copies * copy_ns,
            None if copies > 0.0 => task.counters.cpu_ns("stime_ticks"),
            None => 0.0,
        })
    })
    .ok_or_else(|| unable("the memory of no process is known (/proc/PID/status)"))?;
    let findings = affected.iter().map(|who| {
        let faults_per_s = who.minor_faults_per_s(interval);
        let held_kb = who.level(interval, "task_status", "RssAnon_kb");
        let held_pages = held_kb * 1024.0 / interval.page_bytes() as f64;
        let condition = format!(
            "{} holds {:.0} MB and forks; {faults_per_s:.0} pages a second were copied or taken",
            who.who(),
            held_kb / 1024.0
        );
        let copied_per_s = faults_per_s / held_pages.max(1.0);
        let system = who.share_of_time(interval, "stime_ticks");
        RULE.finding_of(who, unit_ns.is_some(), condition)
            .speaks("minor faults for each anonymous page held, per s", copied_per_s, COPIED_PER_S)
            .speaks("share of time in the kernel", system, LOST_SHARE)
            .notes("stat/processes per s", forks / interval.seconds())
            .notes("task_status/RssAnon_kb", held_kb)
    });
    let missing = "the costs of fork and copy were not measured";
    verdict_of_work(findings.collect(), (unit_ns.is_some(), missing), || {
        format!("{forks} forks, and no process copied its memory for them")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Second, job};

    fn forking(children: u64, faults: u64) -> Second {
        Second::of_machine(&[
            ("vmstat", "pgfault", 9),
            ("vmstat", "pgalloc_normal", 9),
            ("stat", "processes", 10),
        ])
        .with_task(
            5,
            None,
            &[
                ("task_stat", "minflt", faults),
                ("task_stat", "cminflt", children),
                ("task_stat", "stime_ticks", 50),
                ("task_status", "RssAnon_kb", 40_000),
            ],
        )
    }

    #[test]
    fn forks_and_copies_are_priced() {
        let found = forking(20, 100_000).found(&RULE);
        // Ten forks of 10,000 pages, and 100,000 copies.
        assert_eq!((found.scope.clone(), found.lost().unwrap().lost_ns), (job(5), 200_000_000));
        assert_eq!((found.confidence.agreeing, found.confidence.asked), (3, 3));
        assert!(found.condition.contains("39 MB"), "{}", found.condition);
        let churn = forking(20, 100_000).ruled_out(&super::super::minor_faults::RULE);
        assert!(churn.contains("at most 0"), "{churn}");
    }

    #[test]
    fn who_does_not_fork_or_touches_little_is_healthy() {
        assert!(forking(0, 100_000).ruled_out(&RULE).contains("10 forks"));
        assert!(forking(20, 1000).ruled_out(&RULE).contains("10 forks"));
    }

    #[test]
    fn without_counters_it_cannot_tell() {
        assert!(Second::of_machine(&[]).unable(&RULE).contains("/proc/stat"));
        let machine = [("stat", "processes", 3)];
        assert!(Second::of_machine(&machine).unable(&RULE).contains("/proc/PID/status"));
    }
}
