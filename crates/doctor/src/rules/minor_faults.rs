//! A process takes pages from the kernel and gives them back, over and over.

use crate::affected::{Affected, Loss, by_scope, price, system_ns, without_cost};
use crate::minor_faults::split;
use crate::rules::page_tables::blow_up;
use crate::{
    Confidence, Evidence, Family, Finding, Interval, Operation, Price, Provocation, Rule,
    UnitCosts, Verdict,
};

/// From this share of the time lost on it is evidence.
const LOST_SHARE: f64 = 0.05;
/// Faults for each page held, a second, from which on pages come and go.
const TURNOVER_PER_S: f64 = 0.5;

/// Minor-fault churn.
pub(crate) const RULE: Rule = Rule {
    name: "minor-faults",
    family: Family::Faults,
    about: "memory is taken from the kernel and given back, over and over",
    cost: "first touches x cost of one + maps of pages that are there x cost of one (calibrated); \
           without costs at most the time in the kernel",
    provocation: Provocation::Load("provoke-minor-faults"),
    look,
};

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> Verdict {
    let unit_ns = costs.ns(Operation::FirstTouch).zip(costs.ns(Operation::MapPage));
    let (mut losses, mut most) = (Vec::new(), 0.0_f64);
    let mut asked = 0;
    for (pid, task, change) in interval.tasks() {
        let Some(faults) = split(interval, (pid, task, &change)) else { continue };
        asked += 1;
        most = most.max(faults.first_touches + faults.maps);
        // Maps of a blow-up of page tables are told as what they are.
        let maps =
            if blow_up(interval, task.group.as_deref()).is_some() { 0.0 } else { faults.maps };
        let lost_ns = match unit_ns {
            Some((touch_ns, map_ns)) => faults.first_touches * touch_ns + maps * map_ns,
            None => system_ns(&change),
        };
        losses.push(Loss::new(interval, (pid, task, &change), lost_ns));
    }
    if asked == 0 {
        return Verdict::Unable("no process tells its faults (/proc/PID/stat, vmstat)".to_owned());
    }
    let findings: Vec<Finding> = by_scope(&losses)
        .iter()
        .map(|affected| finding(interval, affected, price(affected, unit_ns.is_some())))
        .collect();
    if unit_ns.is_none() {
        return without_cost(findings, "the cost of a minor fault was not measured");
    }
    if findings.is_empty() {
        return Verdict::RuledOut(format!("at most {most:.0} minor faults of a process"));
    }
    Verdict::Found(findings)
}

fn finding(interval: &Interval<'_>, affected: &Affected, price: Price) -> Finding {
    let seconds = interval.elapsed_ns().max(1) as f64 / 1e9;
    let faults = affected.sum(interval, |change| change.grown("task_stat", "minflt"));
    let pages = affected.sum(interval, |change| change.level("task_stat", "rss_pages"));
    let system = affected.share_of_system_time(interval);
    let mut evidence = Vec::from_iter(price.evidence(LOST_SHARE));
    evidence.push(Evidence::told("task_stat/minflt per s", faults / seconds));
    if pages > 0.0 {
        let name = "minor faults for each page held, per s";
        evidence.push(Evidence::of(name, faults / seconds / pages, TURNOVER_PER_S));
    }
    evidence.push(Evidence::of("share of time in the kernel", system, LOST_SHARE));
    Finding {
        rule: RULE.name,
        family: RULE.family,
        scope: affected.scope.clone(),
        condition: format!("{} made {:.0} minor faults a second", affected.who(), faults / seconds),
        price,
        confidence: Confidence::from(evidence.as_slice()),
        evidence,
        counterfactual: None,
        remedy: "keep freed memory for the next use: larger trim and mmap thresholds of the \
                 allocator (glibc: M_TRIM_THRESHOLD, M_MMAP_THRESHOLD; jemalloc: dirty_decay_ms), \
                 or huge pages"
            .to_owned(),
        confirm: affected
            .command(|pid| format!("strace -f -c -e trace=mmap,munmap,madvise,brk -p {pid}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LostTime;
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
        assert_eq!((found.scope.clone(), found.lost().unwrap().lost_ns()), (job(7), 500_000_000));
        assert_eq!((found.confidence.agreeing, found.confidence.asked), (3, 3));
    }

    #[test]
    fn a_process_that_holds_what_it_has_is_healthy() {
        assert!(taking(100).ruled_out(&RULE).contains("100 minor faults"));
    }

    #[test]
    fn without_costs_churn_takes_at_most_the_time_in_the_kernel() {
        let found = taking(500_000).verdict_with(&RULE, &UnitCosts::default());
        let Verdict::Found(found) = found else { panic!("{found:?}") };
        assert_eq!(found[0].price, Price::Known(LostTime::of_threads(6e8, 1, 1e9).at_most()));
        let verdict = taking(10).verdict_with(&RULE, &UnitCosts::default());
        assert!(matches!(verdict, Verdict::Unable(reason) if reason.contains("cost")));
    }

    #[test]
    fn without_processes_it_cannot_tell() {
        assert!(Second::of_machine(&[]).unable(&RULE).contains("/proc/PID/stat"));
    }
}
