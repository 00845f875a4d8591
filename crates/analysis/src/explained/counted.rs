//! What was counted from before a sample to after it.

use model::SampleRecord;

/// Ticks of `/proc/PID/stat` are of this length in ns (`USER_HZ` is 100 on all platforms of today).
const TICK_NS: u64 = 10_000_000;
const MICROSECOND_NS: u64 = 1000;

/// Differences of counters in ns; `None` = the source is missing.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    pub(super) user_ns: Option<u64>,
    pub(super) system_ns: Option<u64>,
    pub(super) irq_ns: Option<u64>,
    pub(super) cpu_wait_ns: Option<u64>,
    pub(super) throttled_ns: Option<u64>,
    pub(super) block_io_ns: Option<u64>,
    pub(super) swap_in_ns: Option<u64>,
    /// Whether swap-in overlaps the states, as it does from Linux 5.17 on.
    pub(super) swap_in_overlaps: bool,
    /// What swap-in claimed as a state.
    pub(super) apart_swap_in_ns: Option<u64>,
    pub(super) thrashing_ns: Option<u64>,
    pub(super) reclaim_ns: Option<u64>,
    pub(super) compaction_ns: Option<u64>,
    pub(super) copy_on_write_ns: Option<u64>,
}

impl Counted {
    pub(super) fn of(sample: &SampleRecord) -> Self {
        let difference = |source: &str, name: &str| {
            let after = sample.after.get(source)?.get(name)?;
            after.checked_sub(*sample.before.get(source)?.get(name)?)
        };
        let scaled = |source: &str, name: &str, unit_ns: u64| {
            difference(source, name).map(|amount| amount.saturating_mul(unit_ns))
        };
        let delay = |name: &str| difference("taskstats", name);
        // A sample that was given up has no report of its own.
        let running = |own: &str, ticks: &str| {
            difference("rusage", own).or_else(|| scaled("task_stat", ticks, TICK_NS))
        };
        let taskstats = sample.after.get("taskstats");
        // A kernel that does not count interrupts says 0 of a task however long it has run.
        let interrupts_count =
            taskstats.and_then(|values| values.get("irq_count")).is_some_and(|count| *count > 0);
        Self {
            user_ns: running("user_ns", "utime_ticks"),
            system_ns: running("system_ns", "stime_ticks"),
            irq_ns: delay("irq_delay_total_ns").filter(|_| interrupts_count),
            cpu_wait_ns: difference("schedstat", "wait_ns").or_else(|| delay("cpu_delay_total_ns")),
            throttled_ns: scaled("cpu_cgroup", "throttled_usec", MICROSECOND_NS)
                .or_else(|| difference("cpu_cgroup", "throttled_time_ns")),
            block_io_ns: delay("blkio_delay_total_ns"),
            swap_in_ns: delay("swapin_delay_total_ns"),
            // Both came with Linux 5.17.
            swap_in_overlaps: taskstats
                .is_some_and(|values| values.contains_key("compact_delay_total_ns")),
            apart_swap_in_ns: None,
            thrashing_ns: delay("thrashing_delay_total_ns"),
            reclaim_ns: delay("freepages_delay_total_ns"),
            compaction_ns: delay("compact_delay_total_ns"),
            copy_on_write_ns: delay("wpcopy_delay_total_ns"),
        }
    }
}
