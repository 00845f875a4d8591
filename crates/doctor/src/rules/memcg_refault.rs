//! A control group evicts file pages and reads them again, while the machine has memory free.

use crate::affected::{Affected, Loss, by_scope, share_evidence};
use crate::interval::Change;
use crate::{
    Confidence, Evidence, Family, Finding, Interval, Operation, Provocation, Rule, Scope,
    UnitCosts, Verdict,
};

/// From this share of major faults on, file pages that come back are what the group waits for, and
/// not pages that it reads for the first time.
const REFAULT_SHARE: f64 = 0.5;
/// A group that uses less of its limit than this is not evicting for the limit's sake.
const NEAR_LIMIT: f64 = 0.95;
/// From this share of the time lost on it is evidence.
const LOST_SHARE: f64 = 0.05;
/// Up to so many voluntary context switches for each major fault, faults are all that a process
/// sleeps for.
const MOST_SWITCHES: f64 = 1.1;
/// Limits from here on are no limits: version 1 tells the largest number of pages.
const UNLIMITED_BYTES: u64 = 1 << 60;

/// File refault thrash of a control group.
pub(crate) const RULE: Rule = Rule {
    name: "memcg-refault",
    family: Family::Reclaim,
    about: "a control group evicts file pages and reads them again, with memory free elsewhere",
    cost: "file refaults x cost of one (calibrated, or what a process sleeps for each where it sleeps \
           for nothing else), at most the time that each process has",
    provocation: Provocation::Load("provoke-memcg-refault"),
    look,
};

/// What a group's counters say of it.
struct Refaults {
    refaults: u64,
    /// Refaults for each major fault: with less than one half, most pages are read for the first
    /// time.
    of_faults: f64,
    limit_bytes: Option<u64>,
    used_bytes: Option<u64>,
    /// How often the limit was met.
    limit_met: Option<u64>,
}

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> Verdict {
    let Some(refault_ns) = costs.ns(Operation::FileRefault) else {
        return Verdict::Unable("the cost of a file refault was not measured".to_owned());
    };
    let mut findings = Vec::new();
    let (mut asked, mut most, mut cold) = (0, 0, false);
    for (path, change) in interval.groups() {
        let Some(group) = refaults(&change) else { continue };
        asked += 1;
        most = most.max(group.refaults);
        let (lost_ns, lost_share, affected) = lost(interval, path, &group, refault_ns);
        if group.of_faults < REFAULT_SHARE {
            cold |= lost_share >= LOST_SHARE;
            continue;
        }
        // Without a limit it is not the group that lacks memory, and another rule's business.
        if !group.is_near_limit() {
            continue;
        }
        findings.push(finding(interval, path, &group, (lost_ns, lost_share), affected.as_ref()));
    }
    findings.retain(|found: &Finding| found.lost_share >= LOST_SHARE / 5.0);
    match (findings.is_empty(), asked) {
        (false, _) => Verdict::Found(findings),
        (true, 0) => Verdict::Unable("no control group tells its refaults".to_owned()),
        (true, _) if cold => Verdict::RuledOut("pages are read for the first time".to_owned()),
        (true, _) => Verdict::RuledOut(format!(
            "at most {most} file pages came back in a group that has reached its limit, or none has"
        )),
    }
}

fn refaults(change: &Change<'_>) -> Option<Refaults> {
    let refaults =
        change.grown_any("memcg", &["workingset_refault_file", "total_workingset_refault_file"])?;
    let faults = change.grown_any("memcg", &["pgmajfault", "total_pgmajfault"])?;
    let level = |names: [&str; 2]| names.iter().find_map(|name| change.level("memcg", name));
    Some(Refaults {
        refaults,
        of_faults: refaults as f64 / faults.max(1) as f64,
        limit_bytes: level(["limit_bytes", "limit_in_bytes"]).filter(|it| *it < UNLIMITED_BYTES),
        used_bytes: level(["current_bytes", "usage_in_bytes"]),
        limit_met: change.grown_any("memcg", &["events_max", "failcnt"]),
    })
}

impl Refaults {
    fn used_share(&self) -> Option<f64> {
        Some(self.used_bytes? as f64 / self.limit_bytes?.max(1) as f64)
    }

    /// Whether the group uses what it may; where its limit is not told, whether it met it.
    fn is_near_limit(&self) -> bool {
        let met = self.limit_met.is_some_and(|met| met > 0);
        self.used_share().map_or(met, |share| share >= NEAR_LIMIT)
    }
}

/// What the group's processes lost, in ns and as a share of their time; and who they are, if any
/// can be named. Each major fault of a process is a refault as often as those of its group are.
fn lost(
    interval: &Interval<'_>,
    path: &str,
    group: &Refaults,
    refault_ns: f64,
) -> (f64, f64, Option<Affected>) {
    let share = group.of_faults.min(1.0);
    let losses: Vec<Loss<'_>> = interval
        .tasks()
        .filter(|(_, task, _)| task.group.as_deref() == Some(path))
        .filter_map(|(pid, task, change)| {
            let faults = change.grown("task_stat", "majflt")? as f64;
            let lost_ns = (faults * refault_ns).max(slept_ns(interval, &change, faults));
            Some(Loss::new(interval, (pid, task, &change), share * lost_ns))
        })
        .collect();
    // All are in one group, so they are told together.
    if let Some(affected) = by_scope(&losses).into_iter().next() {
        return (affected.lost_ns, affected.lost_share, Some(affected));
    }
    let elapsed_ns = interval.elapsed_ns().max(1) as f64;
    let lost_ns = (group.refaults as f64 * refault_ns).min(elapsed_ns);
    (lost_ns, lost_ns / elapsed_ns, None)
}

/// How long a process slept for its major faults, in ns: a disk that is busier than it was when
/// costs were measured takes longer. 0 unless it is seen to sleep for nothing else: it has one
/// thread, of which `/proc/PID/status` tells that it gave its CPU up about once for each fault.
fn slept_ns(interval: &Interval<'_>, change: &Change<'_>, faults: f64) -> f64 {
    let is_single = change.level("task_status", "Threads") == Some(1);
    let switches = change.grown("task_status", "voluntary_ctxt_switches");
    let only_faults = switches.is_some_and(|switches| switches as f64 <= MOST_SWITCHES * faults);
    let (Some(run_ns), Some(wait_ns)) =
        (change.grown("schedstat", "run_ns"), change.grown("schedstat", "wait_ns"))
    else {
        return 0.0;
    };
    match is_single && only_faults && !change.has_begun() {
        true => interval.elapsed_ns().saturating_sub(run_ns + wait_ns) as f64,
        false => 0.0,
    }
}

fn finding(
    interval: &Interval<'_>,
    path: &str,
    group: &Refaults,
    (lost_ns, lost_share): (f64, f64),
    affected: Option<&Affected>,
) -> Finding {
    let seconds = interval.elapsed_ns().max(1) as f64 / 1e9;
    let per_s = group.refaults as f64 / seconds;
    let mut evidence = vec![
        share_evidence(lost_share, LOST_SHARE),
        Evidence::told("memcg/workingset_refault_file per s", per_s),
        Evidence::of(
            "memcg/workingset_refault_file per major fault",
            group.of_faults,
            REFAULT_SHARE,
        ),
    ];
    let used = group.used_share();
    evidence.extend(used.map(|share| Evidence::of("memcg used of its limit", share, NEAR_LIMIT)));
    let met = group.limit_met.map(|met| met as f64 / seconds);
    evidence.extend(met.map(|met| Evidence::of("memcg limit met, per s", met, 1.0)));
    let who = affected.map_or_else(|| path.to_owned(), Affected::who);
    Finding {
        rule: RULE.name,
        family: RULE.family,
        scope: Scope::Group(path.to_owned()),
        condition: format!(
            "{path} evicts file pages and reads them again: {per_s:.0} a second, for {who}"
        ),
        lost_ns: lost_ns as u64,
        lost_share,
        is_bound: false,
        confidence: Confidence::from(evidence.as_slice()),
        evidence,
        counterfactual: missing_bytes(interval, path, group).map(|missing| {
            format!(
                "with at most {:.0} MB more: nothing would come back, {:.0} % less time",
                (missing as f64 / f64::from(1 << 20)).ceil(),
                lost_share * 100.0
            )
        }),
        remedy: "raise the group's limit by what is missing of its working set, or protect it \
                 (memory.low); map less, or use less anonymous memory"
            .to_owned(),
        confirm: "grep -E 'workingset_refault_file|pgmajfault' in the group's memory.stat, twice; \
                  then raise its limit and look again"
            .to_owned(),
    }
}

/// What would be enough: all anonymous memory and all file mappings of its processes, less the
/// limit. `None` if it is not told, or no more than the limit.
fn missing_bytes(interval: &Interval<'_>, path: &str, group: &Refaults) -> Option<u64> {
    let mut needed_kb = 0;
    for (_, task, change) in interval.tasks() {
        if task.group.as_deref() != Some(path) {
            continue;
        }
        let kb = |name: &str| change.level("task_status", name);
        let others: u64 = ["VmData_kb", "VmStk_kb", "VmExe_kb", "VmLib_kb"]
            .into_iter()
            .map(kb)
            .sum::<Option<u64>>()?;
        needed_kb += kb("RssAnon_kb")? + kb("VmSize_kb")?.saturating_sub(others);
    }
    (needed_kb * 1024).checked_sub(group.limit_bytes?).filter(|missing| *missing > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Second;

    const MIB: u64 = 1 << 20;

    fn group(refaults: u64, faults: u64, used_bytes: u64) -> Second {
        let values = [
            ("memcg", "workingset_refault_file", refaults),
            ("memcg", "pgmajfault", faults),
            ("memcg", "usage_in_bytes", used_bytes),
            ("memcg", "limit_bytes", 46 * MIB),
            ("memcg", "failcnt", 40_000),
        ];
        Second::of_machine(&[]).with_group("/a", &values)
    }

    #[test]
    fn refaults_at_the_limit_are_priced() {
        let found = group(300_000, 300_000, 46 * MIB).found(&RULE);
        assert_eq!((found.scope, found.lost_ns), (Scope::Group("/a".to_owned()), 300_000_000));
        assert_eq!((found.confidence.agreeing, found.confidence.asked), (4, 4));
        assert_eq!(found.counterfactual, None, "no process tells what it maps");
    }

    #[test]
    fn the_processes_that_wait_are_named_and_what_is_missing_is_told() {
        let values = [
            ("task_stat", "majflt", 300_000),
            ("task_status", "RssAnon_kb", 1024),
            ("task_status", "VmSize_kb", 60 * 1024),
            ("task_status", "VmData_kb", 6 * 1024),
            ("task_status", "VmStk_kb", 1024),
            ("task_status", "VmExe_kb", 4 * 1024),
            ("task_status", "VmLib_kb", 0),
        ];
        let found =
            group(300_000, 300_000, 46 * MIB).with_task(1, Some("/a"), &values).found(&RULE);
        assert!(found.condition.contains("for job (1)"), "{}", found.condition);
        // 49 MiB of files and 1 of anonymous memory, for 46.
        assert!(found.counterfactual.unwrap().starts_with("with at most 4 MB more"));
    }

    #[test]
    fn what_a_process_sleeps_for_nothing_but_faults_is_their_price() {
        let lost_ns = |switches, threads| {
            let values = [
                ("task_stat", "majflt", 10_000),
                ("task_status", "Threads", threads),
                ("task_status", "voluntary_ctxt_switches", switches),
                ("schedstat", "run_ns", 250_000_000),
                ("schedstat", "wait_ns", 50_000_000),
            ];
            let job = group(10_000, 10_000, 46 * MIB).with_task(1, Some("/a"), &values);
            job.found(&RULE).lost_ns
        };
        assert_eq!(lost_ns(10_100, 1), 700_000_000);
        let calibrated_ns = 10_000_000;
        assert_eq!(lost_ns(20_000, 1), calibrated_ns, "it sleeps for others, too");
        assert_eq!(lost_ns(10_100, 2), calibrated_ns, "the switches are of one of two threads");
    }

    #[test]
    fn a_cold_start_is_not_thrash() {
        let reason = group(1000, 300_000, 46 * MIB).ruled_out(&RULE);
        assert!(reason.contains("at most 1000"), "{reason}");
        let cold = [("task_stat", "majflt", 300_000)];
        // Of its faults a third comes back: too much to be nothing, and still a cold start.
        let reason =
            group(100_000, 300_000, 46 * MIB).with_task(1, Some("/a"), &cold).ruled_out(&RULE);
        assert!(reason.contains("first time"), "{reason}");
    }

    #[test]
    fn a_group_with_memory_left_or_a_few_refaults_is_healthy() {
        assert!(group(300_000, 300_000, 30 * MIB).ruled_out(&RULE).contains("limit"));
        assert!(group(100, 100, 46 * MIB).ruled_out(&RULE).contains("100"));
    }

    #[test]
    fn without_groups_it_cannot_tell() {
        assert!(Second::of_machine(&[]).unable(&RULE).contains("no control group"));
    }
}
