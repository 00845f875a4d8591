//! A process with much memory forks, and both it and its children pay for the copies.

use crate::affected::{Affected, Loss, by_scope, price, system_ns, without_cost};
use crate::minor_faults::{anonymous_pages, split};
use crate::{
    Confidence, Evidence, Family, Finding, Interval, Operation, Price, Provocation, Rule,
    UnitCosts, Verdict,
};

/// From this share of the time lost on it is evidence.
const LOST_SHARE: f64 = 0.05;
/// From this share of its memory on, copied a second, a process copies for its forks.
const COPIED_PER_S: f64 = 0.5;

/// Copy-on-write and fork storm.
pub(crate) const RULE: Rule = Rule {
    name: "fork-storm",
    family: Family::Faults,
    about: "a process with much memory forks again and again, and its pages are copied",
    cost: "forks x pages x cost of a fork for each page + copies x cost of one (calibrated); \
           without costs at most the time in the kernel",
    provocation: Provocation::Load("provoke-fork-storm"),
    look,
};

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> Verdict {
    let unit_ns = costs.ns(Operation::ForkPage).zip(costs.ns(Operation::CopyOnWrite));
    let Some(forks) = interval.machine().grown("stat", "processes") else {
        return Verdict::Unable("forks are not counted (/proc/stat processes)".to_owned());
    };
    let (mut losses, mut asked) = (Vec::new(), 0);
    for (pid, task, change) in interval.tasks() {
        let Some(pages) = anonymous_pages(interval, &change) else { continue };
        let Some(faults) = split(interval, (pid, task, &change)) else { continue };
        asked += 1;
        // As many of the machine's forks are its own as it takes to make so many copies.
        let own = if pages > 0.0 { (faults.copies / pages).ceil().min(forks as f64) } else { 0.0 };
        let lost_ns = match unit_ns {
            Some((fork_ns, copy_ns)) => own * pages * fork_ns + faults.copies * copy_ns,
            None if faults.copies > 0.0 => system_ns(&change),
            None => 0.0,
        };
        losses.push(Loss::new(interval, (pid, task, &change), lost_ns));
    }
    if asked == 0 {
        return Verdict::Unable("no process tells its memory (/proc/PID/status)".to_owned());
    }
    let findings: Vec<Finding> = by_scope(&losses)
        .iter()
        .map(|affected| finding(interval, affected, forks, price(affected, unit_ns.is_some())))
        .collect();
    if unit_ns.is_none() && !findings.is_empty() {
        return without_cost(findings, "the costs of fork and copy were not measured");
    }
    if findings.is_empty() {
        return Verdict::RuledOut(format!("{forks} forks, and nobody copied its memory for them"));
    }
    Verdict::Found(findings)
}

fn finding(interval: &Interval<'_>, affected: &Affected, forks: u64, price: Price) -> Finding {
    let seconds = interval.elapsed_ns().max(1) as f64 / 1e9;
    let faults = affected.sum(interval, |change| change.grown("task_stat", "minflt"));
    let held_kb = affected.sum(interval, |change| change.level("task_status", "RssAnon_kb"));
    let held_pages = held_kb * 1024.0 / interval.page_bytes() as f64;
    let mut evidence = Vec::from_iter(price.evidence(LOST_SHARE));
    evidence.extend([
        Evidence::of(
            "minor faults for each anonymous page held, per s",
            faults / seconds / held_pages.max(1.0),
            COPIED_PER_S,
        ),
        Evidence::of(
            "share of time in the kernel",
            affected.share_of_system_time(interval),
            LOST_SHARE,
        ),
        Evidence::told("stat/processes per s", forks as f64 / seconds),
        Evidence::told("task_status/RssAnon_kb", held_kb),
    ]);
    Finding {
        rule: RULE.name,
        family: RULE.family,
        scope: affected.scope.clone(),
        condition: format!(
            "{} holds {:.0} MB and forks; {:.0} pages a second were copied or taken",
            affected.who(),
            held_kb / 1024.0,
            faults / seconds
        ),
        price,
        confidence: Confidence::from(evidence.as_slice()),
        evidence,
        counterfactual: None,
        remedy: "start programs with posix_spawn or vfork, fork from a small process, save less \
                 often; no huge pages for what is saved by forking"
            .to_owned(),
        confirm: affected
            .command(|pid| format!("strace -f -c -e trace=fork,vfork,clone,clone3 -p {pid}")),
    }
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
        assert_eq!((found.scope.clone(), found.lost().unwrap().lost_ns()), (job(5), 200_000_000));
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
