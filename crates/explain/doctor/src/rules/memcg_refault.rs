//! A control group evicts file pages and reads them again, while the machine has free memory.

use super::*;

/// Refaults per major fault below which a group mostly reads pages for the first time.
const REFAULT_SHARE: f64 = 0.5;
/// Share of its limit from which a group evicts because of it.
const NEAR_LIMIT: f64 = 0.95;
/// Voluntary context switches per major fault up to which a process sleeps for nothing else.
const MOST_SWITCHES: f64 = 1.1;
/// From here on a limit means unlimited: version 1 has the largest number of pages.
const UNLIMITED_BYTES: f64 = (1_u64 << 60) as f64;

const NO_COST: &str = "the cost of a file refault was not measured (thrashlab doctor --calibrate), \
     nor the waits of threads for block I/O (sysctl kernel.task_delayacct=1)";

pub(crate) const RULE: Rule = Rule {
    name: "memcg-refault",
    family: Family::Reclaim,
    about: "a control group evicts file pages and reads them again, with memory free elsewhere",
    cost: "file refaults x cost of one (calibrated, or what a process sleeps for each where it sleeps \
           for nothing else; without a cost its waits for block I/O), at most the time that the \
           threads of each process have",
    provocation: Provocation::Load("provoke-memcg-refault"),
    remedy: "raise the group's limit by what its working set lacks, or protect it \
             (memory.low); map less, or use less anonymous memory",
    confirm: "grep -E 'workingset_refault_file|pgmajfault' in the group's memory.stat, twice; \
              then raise its limit and look again",
    look,
};

struct Refaults<'a> {
    path: &'a str,
    change: Change<'a>,
    refaults: f64,
    faults: f64,
    /// Refaults for each major fault.
    of_faults: f64,
    limit_bytes: Option<f64>,
    used_share: Option<f64>,
    /// How often the limit was reached.
    limit_met: Option<f64>,
}

impl<'a> Refaults<'a> {
    fn of_group(path: &'a str, group: Change<'a>) -> Option<Self> {
        let refaults = group.file_refaults()?;
        let faults = group.grown_any("memcg", &["pgmajfault", "total_pgmajfault"])?;
        let limit = group.level_any("memcg", &["limit_bytes", "limit_in_bytes"]);
        let limit_bytes = limit.filter(|bytes| *bytes < UNLIMITED_BYTES);
        let used_bytes = group.level_any("memcg", &["current_bytes", "usage_in_bytes"]);
        Some(Self {
            path,
            change: group,
            refaults,
            faults,
            of_faults: refaults / faults.max(1.0),
            limit_bytes,
            used_share: used_bytes.zip(limit_bytes).map(|(used, limit)| used / limit.max(1.0)),
            limit_met: group.grown_any("memcg", &["events_max", "failcnt"]),
        })
    }
}

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> RuleResult {
    let refault_ns = costs.ns(Operation::FileRefault);
    let mut findings = Vec::new();
    let (mut most, mut cold, mut unpriced) = (None::<f64>, false, None);
    for (path, change) in interval.groups() {
        let Some(group) = Refaults::of_group(path, change) else { continue };
        most = Some(group.refaults.max(most.unwrap_or(0.0)));
        let (price, affected) = price(interval, &group, refault_ns);
        if group.of_faults < REFAULT_SHARE {
            cold |= price.lost().is_some_and(|lost| lost.lost_share >= LOST_SHARE);
            continue;
        }
        let has_met = group.limit_met.is_some_and(|met| met > 0.0);
        let is_near_limit = group.used_share.map_or(has_met, |share| share >= NEAR_LIMIT);
        // Memory pressure is not an upper bound: it omits most of the waits for reading.
        if !is_near_limit || price.is_negligible() {
            continue;
        }
        let found = finding(interval, &group, price, affected.as_ref());
        match found.if_frequent(interval, group.refaults) {
            Ok(found) => findings.extend(found),
            Err(why) => unpriced = Some(why),
        }
    }
    match (findings.is_empty(), unpriced, most) {
        (false, _, _) => Ok(findings),
        (true, Some(why), _) => Err(why),
        (true, None, None) => Err(unable("no control group counts its refaults")),
        (true, None, _) if cold => ruled_out("pages are read for the first time"),
        (true, None, Some(most)) => ruled_out(format!(
            "at most {most} file pages came back in a group that has reached its limit, or none has"
        )),
    }
}

/// The price of a group's refaults (the same share of each process's major faults), and who waited.
fn price(
    interval: &Interval,
    group: &Refaults,
    refault_ns: Option<f64>,
) -> (Price, Option<Affected>) {
    let share = group.of_faults.min(1.0);
    let mut is_whole = true;
    let affected = affected(interval, |task| {
        let faults = task.counters.grown("task_stat", "majflt").unwrap_or(0.0);
        if faults == 0.0 || task.group != Some(group.path) {
            return None;
        }
        let waited_ns = waited_ns(&task.counters, faults, refault_ns);
        is_whole &= waited_ns.is_some();
        Some(share * waited_ns?)
    });
    let price = match (&affected, refault_ns) {
        // All are in one group, so they count together.
        (Some(affected), _) if is_whole => {
            let nothing = || LostTime::of_threads(0.0, 0, 0.0);
            Price::Known(affected.first().map_or_else(nothing, |affected| affected.lost))
        }
        // The processes are unknown. Faults took at most as long as in sequence.
        (None, Some(refault_ns)) if is_whole => {
            let one_by_one_ns = group.faults * share * refault_ns;
            Price::Known(LostTime::of_wall(one_by_one_ns, interval.elapsed_ns()).at_most())
        }
        _ => Price::unknown(NO_COST, group.change.pressure("memcg_psi", "memory_some_us")),
    };
    (price, affected.and_then(|affected| affected.into_iter().next()))
}

/// A process's wait for its major faults, in ns: a busy disk is slower than during calibration.
/// Without a cost, its threads' waits for block I/O; `None` if unknown.
fn waited_ns(change: &Change<'_>, faults: f64, refault_ns: Option<f64>) -> Option<f64> {
    let slept_ns = slept_ns(change, faults);
    let delays = || change.with_delays().filter(|delays| !delays.has_impossible_delays());
    match refault_ns {
        Some(refault_ns) => Some(slept_ns.unwrap_or(0.0).max(faults * refault_ns)),
        None => slept_ns.or_else(|| Some(delays()?.delay_ns("blkio"))),
    }
}

/// Sleep of a process for its major faults, in ns; `None` unless it has one thread, which slept
/// about once per fault (`/proc/PID/status`), and so for nothing else.
fn slept_ns(change: &Change<'_>, faults: f64) -> Option<f64> {
    let is_single = change.level("task_status", "Threads") == Some(1.0);
    let switches = change.grown("task_status", "voluntary_ctxt_switches");
    let only_faults = switches.is_some_and(|switches| switches <= MOST_SWITCHES * faults);
    let run_ns = change.grown("schedstat", "run_ns")?;
    let wait_ns = change.grown("schedstat", "wait_ns")?;
    (is_single && only_faults && change.before.is_some())
        .then(|| (change.elapsed_ns as f64 - (run_ns + wait_ns)).max(0.0))
}

fn finding(interval: &Interval, group: &Refaults, price: Price, who: Option<&Affected>) -> Finding {
    let path = group.path;
    let per_s = group.refaults / interval.seconds();
    let processes = who.map_or_else(Vec::new, |who| who.pids.clone());
    let who = who.map_or_else(|| path.to_owned(), Affected::who);
    let condition =
        format!("{path} evicts file pages and reads them again: {per_s:.0} a second, for {who}");
    let known = price.lost().filter(|_| matches!(price, Price::Known(_)));
    let known = known.map(|lost| lost.lost_share);
    let counterfactual = missing_bytes(interval, group).map(|missing| {
        let megabytes = (missing / f64::from(1 << 20)).ceil();
        let less =
            known.map_or(String::new(), |share| format!(", {:.0} % less time", share * 100.0));
        format!("with at most {megabytes:.0} MB more: nothing would come back{less}")
    });
    let met_per_s = group.limit_met.map(|met| met / interval.seconds());
    let found = RULE
        .finding(Scope::Group(path.to_owned()), price, condition)
        // Low pressure does not contradict it, as it omits most of the waits.
        .speaks("share of time lost", known, LOST_SHARE)
        .notes("memcg/workingset_refault_file per s", per_s)
        .speaks("memcg/workingset_refault_file per major fault", group.of_faults, REFAULT_SHARE)
        .speaks("memcg used of its limit", group.used_share, NEAR_LIMIT)
        .speaks("memcg limit met, per s", met_per_s, 1.0);
    Finding { counterfactual, processes, ..found }
}

/// Anonymous memory and file mappings of its processes beyond the limit, in bytes; `None` if
/// unknown or within the limit.
fn missing_bytes(interval: &Interval, group: &Refaults) -> Option<f64> {
    let needed_kb = interval.tasks_of(Some(group.path)).map(|task| {
        let kb = |name: &str| task.counters.level("task_status", name);
        let others = ["VmData_kb", "VmStk_kb", "VmExe_kb", "VmLib_kb"];
        let others = others.into_iter().map(kb).sum::<Option<f64>>()?;
        Some(kb("RssAnon_kb")? + (kb("VmSize_kb")? - others).max(0.0))
    });
    let needed_bytes = needed_kb.sum::<Option<f64>>()? * 1024.0;
    Some(needed_bytes - group.limit_bytes?).filter(|missing| *missing > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::NoFinding;
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
        assert_eq!(
            (found.scope.clone(), found.lost().unwrap().lost_ns),
            (Scope::Group("/a".to_owned()), 300_000_000)
        );
        assert_eq!((found.confidence.agreeing, found.confidence.asked), (4, 4));
        assert_eq!(found.counterfactual, None, "what processes map is not known");
    }

    #[test]
    fn the_processes_that_wait_are_named_and_what_is_missing_is_computed() {
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
                ("task_stat", "majflt", 40_000),
                ("task_status", "Threads", threads),
                ("task_status", "voluntary_ctxt_switches", switches),
                ("schedstat", "run_ns", 250_000_000),
                ("schedstat", "wait_ns", 50_000_000),
            ];
            let job = group(40_000, 40_000, 46 * MIB).with_task(1, Some("/a"), &values);
            job.found(&RULE).lost().unwrap().lost_ns
        };
        assert_eq!(lost_ns(40_100, 1), 700_000_000);
        let calibrated_ns = 40_000_000;
        assert_eq!(lost_ns(80_000, 1), calibrated_ns, "it sleeps for others, too");
        assert_eq!(lost_ns(40_100, 2), calibrated_ns, "the switches are of one of two threads");
    }

    #[test]
    fn without_a_cost_it_is_found_with_what_pressure_says() {
        let found = |job: &Second| {
            let found = job.verdict_with(&RULE, &UnitCosts::default());
            let Ok(found) = found else { panic!("{found:?}") };
            found.into_iter().next().unwrap()
        };
        let group = group(3000, 3000, 46 * MIB);
        let bare = group.clone().with_task(1, Some("/a"), &[("task_stat", "majflt", 3000)]);
        assert_eq!(found(&bare).lost(), None);
        assert_eq!(found(&bare).severity(), crate::Severity::Warning);
        let pressed = bare.group("memcg_psi", "memory_some_us", 100_000);
        let Price::Unknown { at_least, price_unknown } = found(&pressed).price else { panic!() };
        assert_eq!(at_least, Some(LostTime::of_wall(1e8, 1_000_000_000)));
        assert!(price_unknown.contains("--calibrate"), "{price_unknown}");
        // What it waited for block I/O is its price, if a user may read it.
        let faults = [("task_stat", "majflt", 3000), ("task_stat", "threads", 1)];
        let waits = [faults[0], faults[1], ("task_stat", "blkio_delay_ticks", 90)];
        let priced = found(&group.with_task(1, Some("/a"), &waits));
        assert_eq!(priced.price, Price::Known(LostTime::of_threads(9e8, 1, 1e9)));
        let few =
            self::group(5, 5, 46 * MIB).with_task(1, Some("/a"), &[("task_stat", "majflt", 5)]);
        assert!(matches!(
            few.verdict_with(&RULE, &UnitCosts::default()),
            Err(NoFinding::Unable(_))
        ));
    }

    #[test]
    fn a_cold_start_is_not_thrash() {
        let reason = group(1000, 300_000, 46 * MIB).ruled_out(&RULE);
        assert!(reason.contains("at most 1000"), "{reason}");
        let cold = [("task_stat", "majflt", 300_000)];
        // A third of its faults comes back: too much to be nothing, and still a cold start.
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
