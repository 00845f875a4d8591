//! Whatever the counters are, nothing panics, and no figure is absurd.

use doctor::{Interval, Operation, Price, Snapshot, TaskSnapshot, UnitCost, UnitCosts, diagnose};
use model::CounterSet;
use proptest::prelude::*;

/// Sources with counters that rules look at.
const COUNTERS: [(&str, &[&str]); 14] = [
    ("thread_run_ns", &["1", "2"]),
    ("thread_wait_ns", &["1", "2"]),
    ("psi", &["memory_some_us", "io_some_us"]),
    ("vmstat", &["pgfault", "pswpin", "pswpout", "pgsteal_direct", "pgsteal_kswapd", "nr_dirty"]),
    ("vmstat", &["nr_dirty_threshold", "workingset_refault_file", "workingset_refault_anon"]),
    ("stat", &["cpu_steal_ticks", "cpu_system_ticks", "cpu_idle_ticks", "processes"]),
    ("meminfo", &["AnonPages_kb", "AnonHugePages_kb", "Mapped_kb", "MemTotal_kb", "PageTables_kb"]),
    (
        "memcg",
        &["workingset_refault_file", "pgmajfault", "limit_bytes", "current_bytes", "failcnt"],
    ),
    ("memcg_psi", &["memory_full_us", "io_full_us"]),
    ("cpu_cgroup", &["nr_periods", "nr_throttled", "throttled_time_ns", "throttled_usec"]),
    ("task_stat", &["minflt", "majflt", "stime_ticks", "utime_ticks", "threads", "rss_pages"]),
    ("schedstat", &["run_ns", "wait_ns"]),
    ("sched", &["blocked_ns", "iowait_ns"]),
    ("taskstats", &["swapin_delay_total_ns", "freepages_delay_total_ns", "wpcopy_delay_total_ns"]),
];

fn value() -> impl Strategy<Value = u64> {
    prop_oneof![0..3_u64, 0..100_000_u64, Just(u64::MAX / 2), Just(u64::MAX)]
}

/// Counters of any sources, each there or not.
fn counters() -> impl Strategy<Value = CounterSet> {
    let count: usize = COUNTERS.iter().map(|(_, names)| names.len()).sum();
    proptest::collection::vec(proptest::option::of(value()), count).prop_map(|values| {
        let names = COUNTERS
            .iter()
            .flat_map(|(source, names)| names.iter().map(move |name| (source, name)));
        let mut set = CounterSet::new();
        for ((source, name), value) in names.zip(values) {
            let values = set.entry((*source).into()).or_default();
            values.extend(value.map(|value| ((*name).into(), value)));
        }
        set
    })
}

fn snapshot(at_ns: u64) -> impl Strategy<Value = Snapshot> {
    (counters(), counters(), counters()).prop_map(move |(machine, group, counters)| {
        let task = TaskSnapshot { name: "a".to_owned(), group: Some("/a".to_owned()), counters };
        let groups = [("/a".to_owned(), group)].into();
        Snapshot { at_ns, machine, groups, tasks: [(7, task)].into(), ..Snapshot::default() }
    })
}

/// Costs of all operations.
fn costs() -> UnitCosts {
    let cost = UnitCost { ns: 1000.0, least_ns: 900.0, repetitions: 1 };
    let all = Operation::ALL.iter().map(|operation| (*operation, cost));
    UnitCosts { costs: all.collect(), ..UnitCosts::default() }
}

proptest! {
    #[test]
    fn no_figure_is_absurd(
        before in snapshot(0),
        after in prop_oneof![snapshot(0), snapshot(1), snapshot(1_000_000_000)],
        is_measured in any::<bool>(),
    ) {
        let costs = if is_measured { costs() } else { UnitCosts::default() };
        let found = diagnose(&Interval::new(&before, &after), &costs);
        for finding in &found.findings {
            let share = finding.lost().map(|lost| lost.lost_share);
            match finding.price {
                Price::Known(_) => prop_assert!((0.01..=1.0).contains(&share.unwrap()), "{finding:#?}"),
                Price::Unknown { .. } => prop_assert!(share.is_none_or(|share| share <= 1.0)),
            }
            prop_assert!(finding.evidence.iter().all(|line| line.value.is_finite()), "{finding:#?}");
            prop_assert!(finding.confidence.agreeing <= finding.confidence.asked);
        }
    }
}
