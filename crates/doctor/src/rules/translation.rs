//! A process works on much memory through small pages, and pays for the page walks.

use crate::affected::{Affected, Loss, by_scope};
use crate::cpu_time::TICK_NS;
use crate::interval::Change;
use crate::minor_faults::anonymous_pages;
use crate::threads::Threads;
use crate::{
    Confidence, Evidence, Family, Finding, Interval, Operation, Price, Provocation, Rule,
    UnitCosts, Verdict,
};

/// From this share of the time lost on it is evidence.
const LOST_SHARE: f64 = 0.05;
/// Memory that no TLB reaches with small pages, in pages: four times the reach of 2,048 entries.
const REACH_PAGES: f64 = 8192.0;
/// A process that makes more faults than this a second is not only working on what it has: a
/// compiler makes thousands, and its references are local.
const STEADY_FAULTS_PER_S: f64 = 2.0;
/// A process that keeps less of a CPU busy in user mode mostly waits for others.
const USER_CPUS: f64 = 0.5;
/// Small pages are this share of its anonymous memory, at least.
const SMALL_SHARE: f64 = 0.5;

/// The tax of translation through small pages.
pub(crate) const RULE: Rule = Rule {
    name: "translation",
    family: Family::Translation,
    about: "much memory is used through small pages: time goes into page walks",
    cost: "at most user time x share of a reference that small pages cost (calibrated) x share of \
           small pages",
    provocation: Provocation::Load("provoke-translation"),
    look,
};

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> Verdict {
    let (Some(extra_ns), Some(huge_ns)) =
        (costs.ns(Operation::SmallPageReference), costs.ns(Operation::HugePageReference))
    else {
        return Verdict::Unable(
            "the cost of small pages against huge ones was not measured".to_owned(),
        );
    };
    let tax = extra_ns / (extra_ns + huge_ns).max(f64::MIN_POSITIVE);
    let (mut losses, mut asked) = (Vec::new(), 0);
    for (pid, task, change) in interval.tasks() {
        let Some(pages) = anonymous_pages(interval, &change) else { continue };
        let Some(small) = small_share(interval, task.group.as_deref()) else { continue };
        asked += 1;
        if small < SMALL_SHARE || !is_steady(&change, pages) {
            continue;
        }
        let user_ns = user_ns(&change);
        if user_ns < USER_CPUS * one_thread_ns(interval, &change) {
            continue;
        }
        losses.push(Loss::new(interval, (pid, task, &change), user_ns * tax * small));
    }
    if asked == 0 {
        return Verdict::Unable(
            "no process tells its anonymous memory (/proc/PID/status, meminfo)".to_owned(),
        );
    }
    let findings: Vec<Finding> =
        by_scope(&losses).iter().map(|affected| finding(interval, affected, tax)).collect();
    if findings.is_empty() {
        return Verdict::RuledOut(format!(
            "no process computes on {} or more of small pages that it keeps (they cost {:.0} %)",
            model::units::format_size(REACH_PAGES as u64 * interval.page_bytes()),
            tax * 100.0
        ));
    }
    Verdict::Found(findings)
}

/// The time that a thread of a process had on average, in ns: where it waits for a CPU, less than
/// the interval.
fn one_thread_ns(interval: &Interval<'_>, change: &Change<'_>) -> f64 {
    let threads = Threads::awake(interval, change);
    threads.had_ns / threads.count as f64
}

fn user_ns(change: &Change<'_>) -> f64 {
    change.grown("task_stat", "utime_ticks").unwrap_or(0) as f64 * TICK_NS
}

/// Whether a process has much memory and keeps it: one that still takes memory does not yet work on
/// it.
fn is_steady(change: &Change<'_>, pages: f64) -> bool {
    let faults_per_s = change.per_s("task_stat", "minflt");
    pages >= REACH_PAGES && faults_per_s.is_some_and(|faults| faults <= STEADY_FAULTS_PER_S)
}

/// The share of small pages of the anonymous memory of a group, or of the machine.
fn small_share(interval: &Interval<'_>, group: Option<&str>) -> Option<f64> {
    let share = |huge: u64, all: u64| (all > 0).then(|| 1.0 - (huge as f64 / all as f64).min(1.0));
    let of_group =
        interval.groups().find(|(path, _)| Some(*path) == group).and_then(|(_, change)| {
            // As versions 1 and 2 spell it.
            let either =
                |names: [&str; 2]| names.iter().find_map(|name| change.level("memcg", name));
            share(either(["rss_huge", "anon_thp"])?, either(["rss", "anon"])?)
        });
    of_group.or_else(|| {
        let machine = interval.machine();
        share(
            machine.level("meminfo", "AnonHugePages_kb")?,
            machine.level("meminfo", "AnonPages_kb")?,
        )
    })
}

fn finding(interval: &Interval<'_>, affected: &Affected, tax: f64) -> Finding {
    let held_kb = affected.sum(interval, |change| change.level("task_status", "RssAnon_kb"));
    let user = affected.sum(interval, |change| change.grown("task_stat", "utime_ticks"));
    let had_ns = affected.lost.of_ns() as f64;
    let price = Price::Known(affected.lost.at_most());
    let small = small_share(interval, affected.group.as_deref()).unwrap_or(1.0);
    let mut evidence = Vec::from_iter(price.evidence(LOST_SHARE));
    evidence.extend([
        Evidence::told("share of a reference that small pages cost", tax),
        Evidence::told("share of time in user mode", user * TICK_NS / had_ns.max(1.0)),
        Evidence::told("share of small pages", small),
        Evidence::told("task_status/RssAnon_kb", held_kb),
    ]);
    Finding {
        rule: RULE.name,
        family: RULE.family,
        scope: affected.scope.clone(),
        condition: format!(
            "{} works on {:.0} MB of small pages: of references without locality {:.0} % is \
             translation",
            affected.who(),
            held_kb / 1024.0,
            tax * 100.0
        ),
        price,
        confidence: Confidence::from(evidence.as_slice()),
        evidence,
        counterfactual: Some(format!(
            "with huge pages at most {:.0} % less time; less if its references are local",
            affected.lost.share() * 100.0
        )),
        remedy:
            "ask for huge pages (madvise MADV_HUGEPAGE, or transparent_hugepage/enabled=always; \
                 glibc: GLIBC_TUNABLES=glibc.malloc.hugetlb=1)"
                .to_owned(),
        confirm: affected.command(|pid| {
            format!("perf stat -e dTLB-load-misses,dtlb_load_misses.walk_active -p {pid} sleep 5")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Second, job};

    fn working(held_kb: u64, faults: u64, huge_kb: u64) -> Second {
        working_for(80, held_kb, faults, huge_kb)
    }

    fn working_for(user_ticks: u64, held_kb: u64, faults: u64, huge_kb: u64) -> Second {
        Second::of_machine(&[
            ("meminfo", "AnonPages_kb", 100_000),
            ("meminfo", "AnonHugePages_kb", huge_kb),
        ])
        .with_task(
            3,
            None,
            &[
                ("task_stat", "minflt", faults),
                ("task_stat", "utime_ticks", user_ticks),
                ("task_status", "RssAnon_kb", held_kb),
            ],
        )
    }

    #[test]
    fn the_tax_is_a_share_of_user_time() {
        // Half of a reference, of 0.8 s.
        let found = working(65_536, 1, 0).found(&RULE);
        assert_eq!((found.scope.clone(), found.lost().unwrap().lost_ns()), (job(3), 400_000_000));
        assert!(found.condition.contains("64 MB"), "{}", found.condition);
    }

    #[test]
    fn little_new_or_huge_memory_is_healthy() {
        for second in [
            working(16_384, 1, 0),
            working(65_536, 500, 0),
            working_for(20, 65_536, 1, 0),
            working(65_536, 1, 90_000),
        ] {
            assert!(second.ruled_out(&RULE).contains("50 %"));
        }
    }

    #[test]
    fn without_counters_it_cannot_tell() {
        assert!(Second::of_machine(&[]).unable(&RULE).contains("meminfo"));
        let verdict = working(1, 1, 1).verdict_with(&RULE, &UnitCosts::default());
        assert!(matches!(verdict, Verdict::Unable(reason) if reason.contains("not measured")));
    }
}
