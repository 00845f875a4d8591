//! A process uses much memory through small pages and waits for page walks.

use super::*;

/// Memory that no TLB covers with small pages, in pages: four times the reach of 2,048 entries.
const REACH_PAGES: f64 = 8192.0;
/// Faults per second above which a process also allocates memory.
const STEADY_FAULTS_PER_S: f64 = 2.0;
/// CPUs busy in user mode below which a process mostly waits.
const USER_CPUS: f64 = 0.5;
/// Minimum share of small pages in anonymous memory.
const SMALL_SHARE: f64 = 0.5;

pub(crate) const RULE: Rule = Rule {
    name: "translation",
    family: Family::Translation,
    about: "much memory is used through small pages: time goes into page walks",
    cost: "at most user time x share of a reference that small pages cost (calibrated) x share of \
           small pages",
    provocation: Provocation::Load("provoke-translation"),
    remedy: "ask for huge pages (madvise MADV_HUGEPAGE, or transparent_hugepage/enabled=always; \
             glibc: GLIBC_TUNABLES=glibc.malloc.hugetlb=1)",
    confirm: "perf stat -e dTLB-load-misses,dtlb_load_misses.walk_active -p PID sleep 5",
    look,
};

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> RuleResult {
    let (extra_ns, huge_ns) = costs
        .ns(Operation::SmallPageReference)
        .zip(costs.ns(Operation::HugePageReference))
        .ok_or_else(|| unable("the cost of small pages against huge ones was not measured"))?;
    let tax = extra_ns / (extra_ns + huge_ns).max(f64::MIN_POSITIVE);
    let affected = affected(interval, |task| {
        let pages = anonymous_pages(interval, &task.counters)?;
        let small = small_share(interval, task.group)?;
        let user_ns = task.counters.cpu_ns("utime_ticks");
        let threads = Threads::awake(&task.counters);
        // The mean time of a thread: with waits for a CPU, less than the interval.
        let is_busy = user_ns >= USER_CPUS * threads.had_ns / threads.count as f64;
        // A growing process does not use its new memory yet.
        let faults = task.counters.grown("task_stat", "minflt");
        let is_steady =
            faults.is_some_and(|faults| faults <= STEADY_FAULTS_PER_S * interval.seconds());
        let pays = small >= SMALL_SHARE && pages >= REACH_PAGES && is_steady && is_busy;
        Some(if pays { user_ns * tax * small } else { 0.0 })
    })
    .ok_or_else(|| {
        unable("the anonymous memory of no process is known (/proc/PID/status, meminfo)")
    })?;
    if affected.is_empty() {
        return ruled_out(format!(
            "no process computes on {} or more of small pages that it keeps (they cost {:.0} %)",
            model::units::format_size(REACH_PAGES as u64 * interval.page_bytes()),
            tax * 100.0
        ));
    }
    let finding = |who: &Affected| {
        let held_kb = who.level(interval, "task_status", "RssAnon_kb");
        let condition = format!(
            "{} works on {:.0} MB of small pages: of references without locality {:.0} % is \
             translation",
            who.who(),
            held_kb / 1024.0,
            tax * 100.0
        );
        let small = small_share(interval, who.group.as_deref()).unwrap_or(1.0);
        let found = RULE
            .finding_of(who, false, condition)
            .notes("share of a reference that small pages cost", tax)
            .notes("share of time in user mode", who.share_of_time(interval, "utime_ticks"))
            .notes("share of small pages", small)
            .notes("task_status/RssAnon_kb", held_kb);
        let counterfactual = format!(
            "with huge pages at most {:.0} % less time; less if its references are local",
            who.lost.lost_share * 100.0
        );
        Finding { counterfactual: Some(counterfactual), ..found }
    };
    Ok(affected.iter().map(finding).collect())
}

/// Share of small pages in the anonymous memory of a group, or of the machine.
fn small_share(interval: &Interval<'_>, group: Option<&str>) -> Option<f64> {
    let share = |huge: f64, all: f64| (all > 0.0).then(|| 1.0 - (huge / all).min(1.0));
    // Names in versions 1 and 2.
    let of_group = interval.group(group).and_then(|group| {
        let level = |names: &[&str]| group.level_any("memcg", names);
        share(level(&["rss_huge", "anon_thp"])?, level(&["rss", "anon"])?)
    });
    let level = |name| interval.machine().level("meminfo", name);
    of_group.or_else(|| share(level("AnonHugePages_kb")?, level("AnonPages_kb")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::NoFinding;
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
        assert_eq!((found.scope.clone(), found.lost().unwrap().lost_ns), (job(3), 400_000_000));
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
        assert!(
            matches!(verdict, Err(NoFinding::Unable(reason)) if reason.contains("not measured"))
        );
    }
}
