//! What well-known counters mean.

/// What a counter that moves is evidence of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    /// Anonymous memory goes to swap and comes back.
    Swap,
    /// File pages are evicted and read again.
    FileRefault,
    /// Memory is at a limit of the control group.
    Limit,
    /// Pages are read from a disk, whatever they are.
    Reading,
    /// Page tables grow.
    PageTables,
    /// Memory is moved to make room for huge pages, or there is none for them.
    Compaction,
    /// The processor looks translations up.
    Translation,
    /// Page tables are taken from one process for another one.
    Stealing,
    /// Mappings are lost and made again.
    Mapping,
    /// Writers wait for the disk.
    Writeback,
    /// A quota of CPU time is used up.
    Quota,
    /// It comes with one of the others, and names none.
    Accompanies,
    /// A clock, or a number that only follows one.
    Clock,
}

/// A counter by the beginning of its name, without source.
struct Known {
    /// The name, or its beginning if it ends in `*`.
    name: &'static str,
    cause: Cause,
    meaning: &'static str,
}

const fn known(name: &'static str, cause: Cause, meaning: &'static str) -> Known {
    Known { name, cause, meaning }
}

/// The first that fits counts.
const TABLE: [Known; 65] = [
    known("workingset_refault_anon", Cause::Swap, "swapped pages needed again soon after"),
    known("workingset_refault*", Cause::FileRefault, "file pages needed again soon after eviction"),
    known("workingset_restore_file", Cause::FileRefault, "evicted file pages that were active"),
    known("pswpin", Cause::Swap, "pages read from swap"),
    known("pswpout", Cause::Swap, "pages written to swap"),
    known("swap_ra*", Cause::Swap, "pages read ahead from swap"),
    known("swapin_count", Cause::Swap, "waits for pages from swap"),
    known("swapin_delay*", Cause::Swap, "time waited for pages from swap"),
    known("zswpin", Cause::Swap, "pages unpacked from compressed swap"),
    known("zswpout", Cause::Swap, "pages packed into compressed swap"),
    known("thrashing_count", Cause::Reading, "waits for pages evicted a short while ago"),
    known("thrashing_delay*", Cause::Reading, "time waited for pages evicted a short while ago"),
    known("pgmajfault", Cause::Reading, "faults that had to read from a disk"),
    known("failcnt", Cause::Limit, "requests for memory that met the group's limit"),
    known("events_max", Cause::Limit, "requests for memory that met the group's limit"),
    known("events_high", Cause::Limit, "requests for memory slowed down at the group's high mark"),
    known("events_oom*", Cause::Limit, "the group was out of memory"),
    known("oom_kill", Cause::Limit, "processes killed for want of memory"),
    known("nr_page_table_pages", Cause::PageTables, "memory in page tables"),
    known("nr_sec_page_table_pages", Cause::PageTables, "memory in a hypervisor's page tables"),
    known("PageTables_kb", Cause::PageTables, "memory in page tables"),
    known("pagetables", Cause::PageTables, "memory of the group in page tables"),
    known("page_table*", Cause::PageTables, "memory in page tables"),
    known("page_walks", Cause::Translation, "translations the processor looked up in page tables"),
    known("dtlb*", Cause::Translation, "translations missing in the TLB"),
    known("itlb*", Cause::Translation, "translations missing in the TLB"),
    known("pmgstolen_*", Cause::Stealing, "groups of translations taken from another process"),
    known("steals", Cause::Stealing, "groups of translations taken from another process"),
    known("pmgalloc", Cause::Accompanies, "groups of translations given out"),
    known("pmghave", Cause::Accompanies, "faults whose group of translations was there"),
    known("ctxpmgs", Cause::Accompanies, "groups of translations that came back with a context"),
    known("loads", Cause::Accompanies, "groups of translations filled at once by the kernel"),
    known("ctxstolen", Cause::Accompanies, "hardware contexts taken from another process"),
    known("contexts_stolen", Cause::Accompanies, "hardware contexts taken from another process"),
    known("ctxalloc", Cause::Accompanies, "hardware contexts given out"),
    known("context_switches", Cause::Accompanies, "context switches"),
    known("translation_faults", Cause::Mapping, "translations the kernel had to supply"),
    known("compact_daemon*", Cause::Accompanies, "memory moved in the background"),
    known("compact_*", Cause::Compaction, "memory moved to make room for huge pages"),
    known("thp_fault_fallback*", Cause::Compaction, "huge pages asked for and not had"),
    known("thp_swpout*", Cause::Swap, "huge pages written to swap"),
    known("thp_*", Cause::Accompanies, "huge pages made, split or given up"),
    known("nr_throttled_written", Cause::Writeback, "pages whose writers were slowed down"),
    known("nr_throttled", Cause::Quota, "periods in which the CPU quota was used up"),
    known("throttled_*", Cause::Quota, "time without CPU because the quota was used up"),
    known("pgfault", Cause::Mapping, "faults of all kinds"),
    known("pgscan_direct_throttle", Cause::Accompanies, "reclaimers slowed down"),
    known("pgscan*", Cause::Accompanies, "pages looked at for eviction"),
    known("pgsteal*", Cause::Accompanies, "pages evicted"),
    known("allocstall*", Cause::Accompanies, "allocations that had to evict pages first"),
    known("freepages_*", Cause::Accompanies, "waits for memory to be reclaimed"),
    known("workingset_activate*", Cause::Accompanies, "refaulted pages taken for active"),
    known("workingset_*", Cause::Accompanies, "eviction of pages in use"),
    known("kswapd_*", Cause::Accompanies, "the reclaiming daemon at work"),
    known("pageoutrun", Cause::Accompanies, "the reclaiming daemon at work"),
    known("memory_some_us", Cause::Accompanies, "time in which a task waited for memory"),
    known("memory_full_us", Cause::Accompanies, "time in which all tasks waited for memory"),
    known("io_some_us", Cause::Accompanies, "time in which a task waited for a disk"),
    known("io_full_us", Cause::Accompanies, "time in which all tasks waited for a disk"),
    known("blkio_*", Cause::Accompanies, "waits for a disk"),
    known("pgpgin", Cause::Accompanies, "read from disks"),
    known("pgpgout", Cause::Accompanies, "written to disks"),
    known("ctxt", Cause::Accompanies, "context switches"),
    known("procs_blocked", Cause::Accompanies, "tasks that wait for a disk"),
    known("intr_total", Cause::Clock, "interrupts"),
];

/// Names of the same thing, and the one that is used here.
const SYNONYMS: [(&str, &str); 7] = [
    ("major_faults", "pgmajfault"),
    ("majflt", "pgmajfault"),
    ("faults", "pgfault"),
    ("minor_faults", "pgfault"),
    ("minflt", "pgfault"),
    ("swap_ins", "pswpin"),
    ("pgtables_bytes", "pagetables"),
];

/// Clocks, and what follows them, by what their names contain.
const CLOCKS: [&str; 12] = [
    "elapsed",
    "user",
    "system",
    "ticks",
    "usage_",
    "cpu_",
    "run_ns",
    "wait_ns",
    "timeslices",
    "idle",
    "vm_time",
    "time_ns",
];

/// What is measured, without its source and the prefix by which control groups mark sums.
pub(super) fn bare(name: &str) -> &str {
    let bare = name.rsplit_once('.').map_or(name, |(_, bare)| bare);
    let bare = bare.strip_prefix("total_").unwrap_or(bare);
    SYNONYMS.iter().find(|(other, _)| *other == bare).map_or(bare, |(_, name)| name)
}

/// What a counter is evidence of, and in words; `None` of those that are not well known.
pub(super) fn meaning(name: &str) -> Option<(Cause, Option<&'static str>)> {
    let bare = bare(name);
    let fits = |known: &&Known| match known.name.strip_suffix('*') {
        Some(beginning) => bare.starts_with(beginning),
        None => bare == known.name,
    };
    if let Some(known) = TABLE.iter().find(fits) {
        return Some((known.cause, Some(known.meaning)));
    }
    CLOCKS.iter().any(|clock| bare.contains(clock)).then_some((Cause::Clock, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_counters_have_a_cause_whatever_their_source() {
        for (name, cause) in [
            ("memcg.total_workingset_refault_file", Cause::FileRefault),
            ("vmstat.workingset_refault_anon", Cause::Swap),
            ("major_faults", Cause::Reading),
            ("vmstat.compact_stall", Cause::Compaction),
            ("vmstat.compact_daemon_wake", Cause::Accompanies),
            ("vmstat.nr_page_table_pages", Cause::PageTables),
            ("system_ns", Cause::Clock),
        ] {
            assert_eq!(meaning(name).map(|(cause, _)| cause), Some(cause), "{name}");
        }
        assert_eq!(meaning("vmstat.drop_slab"), None);
    }
}
