//! Many processes map the same memory page by page, each with its own page tables.

use super::*;

/// Page tables as a share of the mapped memory, counted once, that are a blow-up: one process has
/// 0.2 % (8 bytes per page).
const TABLE_SHARE: f64 = 0.10;
/// Page tables as a share of all memory that are a blow-up.
const MEMORY_SHARE: f64 = 0.05;

pub(crate) const RULE: Rule = Rule {
    name: "page-tables",
    family: Family::Translation,
    about: "many processes map the same memory, each with page tables of its own",
    cost: "faults that map a resident page x cost of one (calibrated); without a cost at most \
           the time in the kernel",
    provocation: Provocation::Load("provoke-page-tables"),
    remedy: "map the shared memory with huge pages (hugetlb, or shmem_enabled=advise), or share \
             processes among clients (a pool of connections)",
    confirm: "grep -E 'PageTables|Mapped|Shmem' /proc/meminfo; \
              thrashlab footprint --all --no-clear --top 20",
    look,
};

/// The evidence for a blow-up of page tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlowUp {
    tables_kb: f64,
    /// Page tables as a share of the mapped file and shared memory, counted once.
    of_mapped: Option<f64>,
    /// Page tables as a share of the machine's memory.
    of_memory: Option<f64>,
}

/// The blow-up of page tables among the processes of a group, if any.
pub(crate) fn blow_up(interval: &Interval<'_>, group: Option<&str>) -> Option<BlowUp> {
    let of_task = |task: Task<'_>| task.counters.level("task_status", "VmPTE_kb").unwrap_or(0.0);
    let tables_kb = interval.tasks_of(group).map(of_task).sum();
    let level = |name| interval.machine().level("meminfo", name);
    let ratio = |part: f64, whole: Option<f64>| Some(part / whole.filter(|whole| *whole > 0.0)?);
    // Names in versions 1 and 2; each page counts once.
    let names = ["mapped_file", "file_mapped"];
    let mapped_bytes = interval.group(group).and_then(|group| group.level_any("memcg", &names));
    let mapped_kb = mapped_bytes.map(|bytes| (bytes / 1024.0).floor());
    let of_mapped = ratio(tables_kb, mapped_kb.or_else(|| level("Mapped_kb")));
    let of_memory = level("PageTables_kb").and_then(|tables| ratio(tables, level("MemTotal_kb")));
    let is_large = of_mapped >= Some(TABLE_SHARE) || of_memory >= Some(MEMORY_SHARE);
    is_large.then_some(BlowUp { tables_kb, of_mapped, of_memory })
}

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> RuleResult {
    let map_ns = costs.ns(Operation::MapPage);
    let affected = affected(interval, |task| {
        let faults = split(interval, task)?;
        let lost_ns =
            || map_ns.map_or_else(|| task.counters.cpu_ns("stime_ticks"), |ns| faults.maps * ns);
        Some(blow_up(interval, task.group).map_or(0.0, |_| lost_ns()))
    })
    .ok_or_else(|| unable("page faults are not known for any process (/proc/PID/stat, vmstat)"))?;
    let findings =
        affected.iter().filter_map(|who| finding(interval, who, map_ns.is_some())).collect();
    let missing = "the cost of mapping a page was not measured";
    verdict_of_work(findings, (map_ns.is_some(), missing), || {
        let tables = interval.machine().level("meminfo", "PageTables_kb");
        let tables = tables.map_or("of unknown size".to_owned(), |kb| format!("{kb} kB"));
        format!("page tables are {tables}, and no process maps much new memory")
    })
}

fn finding(interval: &Interval<'_>, who: &Affected, is_measured: bool) -> Option<Finding> {
    let blow_up = blow_up(interval, who.group.as_deref())?;
    let faults_per_s = who.minor_faults_per_s(interval);
    let tables_mb = blow_up.tables_kb / 1024.0;
    let condition = format!(
        "{} have page tables of {tables_mb:.1} MB for the same memory, and mapped \
         {faults_per_s:.0} pages a second",
        who.who()
    );
    // An entry has 8 bytes, and a huge page replaces one page of tables.
    let entries = interval.page_bytes() / 8;
    let counterfactual = format!(
        "with huge pages the page tables would be {:.2} MB: 1/{entries}",
        tables_mb / entries as f64
    );
    let found = RULE
        .finding_of(who, is_measured, condition)
        .notes("task_stat/minflt per s", faults_per_s)
        .notes("task_status/VmPTE_kb", blow_up.tables_kb)
        .speaks("page tables as a share of what is mapped", blow_up.of_mapped, TABLE_SHARE)
        .notes("page tables as a share of all memory", blow_up.of_memory);
    Some(Finding { counterfactual: Some(counterfactual), ..found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;
    use crate::sample::Second;

    /// Two processes that make faults which take no page.
    fn sharing(faults: u64, tables_kb: u64) -> Second {
        let values = [("task_stat", "minflt", faults), ("task_status", "VmPTE_kb", tables_kb)];
        Second::of_machine(&[
            ("vmstat", "pgfault", 1_000_000),
            ("vmstat", "pgalloc_normal", 0),
            ("meminfo", "Mapped_kb", 16_384),
            ("meminfo", "PageTables_kb", 9000),
            ("meminfo", "MemTotal_kb", 1 << 20),
        ])
        .with_group("/db", &[("memcg", "usage_in_bytes", 1)])
        .with_task(1, Some("/db"), &values)
        .with_task(2, Some("/db"), &values)
    }

    #[test]
    fn maps_of_a_blow_up_are_priced() {
        let found = sharing(400_000, 2000).found(&RULE);
        assert_eq!(
            (found.scope.clone(), found.lost().unwrap().lost_ns),
            (Scope::Group("/db".to_owned()), 800_000_000)
        );
        assert!((found.lost().unwrap().lost_share - 0.4).abs() < 1e-9);
        assert!(
            sharing(400_000, 2000).ruled_out(&super::super::minor_faults::RULE).contains("minor")
        );
    }

    #[test]
    fn small_tables_are_no_blow_up_and_a_quiet_one_costs_nothing() {
        assert!(sharing(400_000, 100).ruled_out(&RULE).contains("9000 kB"));
        assert!(sharing(400, 2000).ruled_out(&RULE).contains("9000 kB"));
        // The faults are there, so they have another cause.
        let other = sharing(400_000, 100).found(&super::super::minor_faults::RULE);
        assert_eq!(other.lost().unwrap().lost_ns, 800_000_000);
    }

    #[test]
    fn without_processes_it_cannot_tell() {
        assert!(Second::of_machine(&[]).unable(&RULE).contains("/proc/PID/stat"));
    }
}
