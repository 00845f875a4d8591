//! The meaning of well-known counters.

/// What a counter that moves is evidence of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sweep) enum Cause {
    Swap,
    FileRefault,
    Limit,
    Reading,
    PageTables,
    Compaction,
    Translation,
    Stealing,
    Mapping,
    Writeback,
    Quota,
    /// It accompanies one of the others.
    Accompanies,
    /// A clock, or a number that follows one.
    Clock,
}

/// Counters by name without source, or by prefix before a `*`, with what they are evidence of and
/// what they mean. The first match applies.
const TABLE: [(&str, Cause, &str); 57] = [
    ("workingset_refault_anon", Cause::Swap, "swapped pages needed again soon after"),
    ("workingset_refault*", Cause::FileRefault, "file pages needed again soon after eviction"),
    ("workingset_restore_file", Cause::FileRefault, "evicted file pages that were active"),
    ("pswpin", Cause::Swap, "pages read from swap"),
    ("pswpout", Cause::Swap, "pages written to swap"),
    ("swap_ra*", Cause::Swap, "pages read ahead from swap"),
    ("swapin_count", Cause::Swap, "waits for pages from swap"),
    ("swapin_delay*", Cause::Swap, "time waited for pages from swap"),
    ("zswpin", Cause::Swap, "pages unpacked from compressed swap"),
    ("zswpout", Cause::Swap, "pages packed into compressed swap"),
    ("thrashing_count", Cause::Reading, "waits for recently evicted pages"),
    ("thrashing_delay*", Cause::Reading, "time waited for recently evicted pages"),
    ("pgmajfault", Cause::Reading, "faults that had to read from a disk"),
    ("failcnt events_max", Cause::Limit, "requests for memory that met the group's limit"),
    ("events_high", Cause::Limit, "requests for memory slowed down at the group's high mark"),
    ("events_oom*", Cause::Limit, "the group was out of memory"),
    ("oom_kill", Cause::Limit, "processes killed for lack of memory"),
    ("nr_page_table_pages PageTables_kb page_table*", Cause::PageTables, "memory in page tables"),
    ("nr_sec_page_table_pages", Cause::PageTables, "memory in a hypervisor's page tables"),
    ("pagetables", Cause::PageTables, "memory of the group in page tables"),
    ("page_walks", Cause::Translation, "translations the processor looked up in page tables"),
    ("dtlb* itlb*", Cause::Translation, "translations missing in the TLB"),
    ("pmgstolen_* steals", Cause::Stealing, "groups of translations taken from another process"),
    ("pmgalloc", Cause::Accompanies, "groups of translations allocated"),
    ("pmghave", Cause::Accompanies, "faults whose group of translations was loaded"),
    ("ctxpmgs", Cause::Accompanies, "groups of translations that came back with a context"),
    ("loads", Cause::Accompanies, "groups of translations loaded at once by the kernel"),
    (
        "ctxstolen contexts_stolen",
        Cause::Accompanies,
        "hardware contexts taken from another process",
    ),
    ("ctxalloc", Cause::Accompanies, "hardware contexts allocated"),
    ("context_switches ctxt", Cause::Accompanies, "context switches"),
    ("translation_faults", Cause::Mapping, "translations the kernel had to supply"),
    ("compact_daemon*", Cause::Accompanies, "memory compacted in the background"),
    ("compact_*", Cause::Compaction, "memory compacted for huge pages"),
    ("thp_fault_fallback*", Cause::Compaction, "failed allocations of huge pages"),
    ("thp_swpout*", Cause::Swap, "huge pages written to swap"),
    ("thp_*", Cause::Accompanies, "huge pages created, split or failed"),
    ("nr_throttled_written", Cause::Writeback, "pages whose writers were slowed down"),
    ("nr_throttled", Cause::Quota, "periods in which the CPU quota was used up"),
    ("throttled_*", Cause::Quota, "time without CPU because the quota was used up"),
    ("pgfault", Cause::Mapping, "faults of all kinds"),
    ("pgscan_direct_throttle", Cause::Accompanies, "reclaimers slowed down"),
    ("pgscan*", Cause::Accompanies, "pages scanned for eviction"),
    ("pgsteal*", Cause::Accompanies, "pages evicted"),
    ("allocstall*", Cause::Accompanies, "allocations that had to evict pages first"),
    ("freepages_*", Cause::Accompanies, "waits for memory to be reclaimed"),
    ("workingset_activate*", Cause::Accompanies, "refaulted pages activated"),
    ("workingset_*", Cause::Accompanies, "eviction of pages in use"),
    ("kswapd_* pageoutrun", Cause::Accompanies, "activity of kswapd"),
    ("memory_some_us", Cause::Accompanies, "time in which a task waited for memory"),
    ("memory_full_us", Cause::Accompanies, "time in which all tasks waited for memory"),
    ("io_some_us", Cause::Accompanies, "time in which a task waited for a disk"),
    ("io_full_us", Cause::Accompanies, "time in which all tasks waited for a disk"),
    ("blkio_*", Cause::Accompanies, "waits for a disk"),
    ("pgpgin", Cause::Accompanies, "read from disks"),
    ("pgpgout", Cause::Accompanies, "written to disks"),
    ("procs_blocked", Cause::Accompanies, "tasks that wait for a disk"),
    ("intr_total", Cause::Clock, "interrupts"),
];

/// Synonyms, and the names used here.
const SYNONYMS: [(&str, &str); 4] = [
    ("major_faults majflt", "pgmajfault"),
    ("faults minor_faults minflt", "pgfault"),
    ("swap_ins", "pswpin"),
    ("pgtables_bytes", "pagetables"),
];

/// Parts of the names of clocks, and of what follows them.
const CLOCKS: &str =
    "elapsed user system ticks usage_ cpu_ run_ns wait_ns timeslices idle vm_time time_ns";

/// A name without its source and the control groups' prefix of sums.
pub(super) fn bare(name: &str) -> &str {
    let bare = name.rsplit_once('.').map_or(name, |(_, bare)| bare);
    let bare = bare.strip_prefix("total_").unwrap_or(bare);
    let is_it = |(others, _): &&(&str, &str)| others.split(' ').any(|other| other == bare);
    SYNONYMS.iter().find(is_it).map_or(bare, |(_, name)| name)
}

/// What a counter is evidence of, and its meaning, if it is well known.
pub(super) fn meaning(name: &str) -> Option<(Cause, Option<&'static str>)> {
    let bare = bare(name);
    let fits = |name: &str| match name.strip_suffix('*') {
        Some(beginning) => bare.starts_with(beginning),
        None => bare == name,
    };
    let known = TABLE.iter().find(|(names, ..)| names.split(' ').any(fits));
    let known = known.map(|(_, cause, meaning)| (*cause, Some(*meaning)));
    let is_clock = || CLOCKS.split(' ').any(|clock| bare.contains(clock));
    known.or_else(|| is_clock().then_some((Cause::Clock, None)))
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
