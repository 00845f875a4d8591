//! A process repeatedly allocates pages from the kernel and frees them.

use super::page_tables::blow_up;
use super::*;

/// Faults per page held and second from which pages come and go.
const TURNOVER_PER_S: f64 = 0.5;

pub(crate) const RULE: Rule = Rule {
    name: "minor-faults",
    family: Family::Faults,
    about: "memory is repeatedly taken from the kernel and given back",
    cost: "first touches x cost of one + maps of resident pages x cost of one (calibrated); \
           without costs at most the time in the kernel",
    provocation: Provocation::Load("provoke-minor-faults"),
    remedy: "keep freed memory for the next use: larger trim and mmap thresholds of the allocator \
             (glibc: M_TRIM_THRESHOLD, M_MMAP_THRESHOLD; jemalloc: dirty_decay_ms), or huge pages",
    confirm: "strace -f -c -e trace=mmap,munmap,madvise,brk -p PID",
    look,
};

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> RuleResult {
    let unit_ns = costs.ns(Operation::FirstTouch).zip(costs.ns(Operation::MapPage));
    let mut most = 0.0_f64;
    let affected = affected(interval, |task| {
        let faults = split(interval, task)?;
        most = most.max(faults.first_touches + faults.maps);
        // Maps of a page-table blow-up belong to another rule.
        let maps = if blow_up(interval, task.group).is_some() { 0.0 } else { faults.maps };
        Some(match unit_ns {
            Some((touch_ns, map_ns)) => faults.first_touches * touch_ns + maps * map_ns,
            None => task.counters.cpu_ns("stime_ticks"),
        })
    })
    .ok_or_else(|| unable("page faults are not known for any process (/proc/PID/stat, vmstat)"))?;
    let findings = affected.iter().map(|who| {
        let faults_per_s = who.minor_faults_per_s(interval);
        let pages = who.level(interval, "task_stat", "rss_pages");
        let turnover_per_s = (pages > 0.0).then(|| faults_per_s / pages);
        let condition = format!("{} had {faults_per_s:.0} minor faults a second", who.who());
        let system = who.share_of_time(interval, "stime_ticks");
        RULE.finding_of(who, unit_ns.is_some(), condition)
            .notes("task_stat/minflt per s", faults_per_s)
            .speaks("minor faults for each page held, per s", turnover_per_s, TURNOVER_PER_S)
            .speaks("share of time in the kernel", system, LOST_SHARE)
    });
    let missing = "the cost of a minor fault was not measured";
    verdict_of_work(findings.collect(), (unit_ns.is_some(), missing), || {
        format!("at most {most:.0} minor faults of a process")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LostTime;
    use crate::Price;
    use crate::rule::NoFinding;
    use crate::sample::{Second, job};

    fn taking(faults: u64) -> Second {
        Second::of_machine(&[("vmstat", "pgfault", 1000), ("vmstat", "pgalloc_normal", 1000)])
            .with_task(
                7,
                None,
                &[
                    ("task_stat", "minflt", faults),
                    ("task_stat", "rss_pages", 100),
                    ("task_stat", "stime_ticks", 60),
                ],
            )
    }

    #[test]
    fn churn_is_priced() {
        let found = taking(500_000).found(&RULE);
        assert_eq!((found.scope.clone(), found.lost().unwrap().lost_ns), (job(7), 500_000_000));
        assert_eq!((found.confidence.agreeing, found.confidence.asked), (3, 3));
    }

    #[test]
    fn a_process_that_holds_what_it_has_is_healthy() {
        assert!(taking(100).ruled_out(&RULE).contains("100 minor faults"));
    }

    #[test]
    fn without_costs_churn_takes_at_most_the_time_in_the_kernel() {
        let found = taking(500_000).verdict_with(&RULE, &UnitCosts::default());
        let Ok(found) = found else { panic!("{found:?}") };
        assert_eq!(found[0].price, Price::Known(LostTime::of_threads(6e8, 1, 1e9).at_most()));
        let verdict = taking(10).verdict_with(&RULE, &UnitCosts::default());
        assert!(matches!(verdict, Err(NoFinding::Unable(reason)) if reason.contains("cost")));
    }

    #[test]
    fn without_processes_it_cannot_tell() {
        assert!(Second::of_machine(&[]).unable(&RULE).contains("/proc/PID/stat"));
    }
}
