//! The machine is short of memory: it evicts file pages and reads them again.

use super::*;

/// Pages reclaimed by the machine per file refault from which it is the cause: `pgsteal_kswapd` and
/// `pgsteal_direct` of `/proc/vmstat` exclude control groups and requests.
const STEALS_PER_REFAULT: f64 = 0.5;
/// Share of scanned pages reclaimed below which reclaim is ineffective (methods.md, rule 9).
const IN_VAIN: f64 = 0.3;
/// Counters of allocations that had to reclaim, by zone.
const STALLS: [&str; 4] =
    ["allocstall_dma", "allocstall_dma32", "allocstall_normal", "allocstall_movable"];

pub(crate) const RULE: Rule = Rule {
    name: "global-reclaim",
    family: Family::Reclaim,
    about: "the machine evicts file pages for lack of memory and reads them again",
    cost: "of each task: block I/O delay x file refaults / pages read, and reclaim delay x file \
           share of refaults; without delays: major faults of each task x file refaults / \
           pages read x cost of one (calibrated), or at least the pressure of I/O (some) x the same \
           share",
    provocation: Provocation::Load("provoke-global-reclaim"),
    remedy: "add memory, or confine what streams through the page cache (memory.high, \
             posix_fadvise DONTNEED); memory.low keeps what matters; a larger \
             vm.watermark_scale_factor lets kswapd begin earlier",
    confirm: "grep -E 'pgsteal|workingset_refault_file|allocstall' /proc/vmstat",
    look,
};

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> RuleResult {
    let missing = || unable("vmstat does not count what was reclaimed and came back");
    let traffic = Traffic::in_interval(interval).ok_or_else(missing)?;
    // By kswapd and by the processes themselves.
    let both = |name: &str| {
        let direct = interval.vmstat(&format!("{name}_direct")).unwrap_or(0.0);
        Some(interval.vmstat(&format!("{name}_kswapd"))? + direct)
    };
    let (scanned, stolen) = both("pgscan").zip(both("pgsteal")).ok_or_else(missing)?;
    let refaults = traffic.file_refaults;
    if stolen == 0.0 {
        return ruled_out("the machine reclaimed nothing for lack of memory");
    }
    if stolen < STEALS_PER_REFAULT * refaults {
        return ruled_out(format!(
            "{refaults} file pages came back, but the machine reclaimed only {stolen} for lack of \
             memory: a control group or another process evicts them"
        ));
    }
    let of_reads = traffic.share_of_reads(refaults);
    let price = Waits {
        group: None,
        reads: Some((refaults, costs.ns(Operation::FileRefault))),
        pressure: ("io_some_us", of_reads),
    }
    .price(interval, &traffic, |task| {
        task.delay_ns("blkio") * of_reads
            + task.delay_ns("freepages") * (1.0 - traffic.anon_share())
    });
    let yield_share = stolen / scanned.max(1.0);
    let in_vain = if yield_share < IN_VAIN { ", most of it without success" } else { "" };
    let condition = format!(
        "{stolen} pages were reclaimed{in_vain}, and {refaults} file pages were read again"
    );
    let per_refault = stolen / refaults.max(1.0);
    let steals = "vmstat/pgsteal (kswapd and direct) per file refault";
    let stalls: f64 = STALLS.iter().filter_map(|name| interval.vmstat(name)).sum();
    RULE.of_machine(price, condition)
        .speaks("vmstat/workingset_refault_file per page read", of_reads, 0.5)
        .speaks(steals, per_refault, STEALS_PER_REFAULT)
        .notes("vmstat/allocstall", stalls)
        .notes("vmstat/pgsteal per page scanned", yield_share)
        .if_frequent(interval, refaults)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LostTime;
    use crate::rule::NoFinding;
    use crate::sample::Second;
    use crate::{Confidence, Price};

    /// A second in which one process waits for 900 ms of reads, of which nearly all come back.
    fn reclaim() -> Second {
        Second::bare()
            .machine("vmstat", "pgpgin", 4000)
            .machine("vmstat", "pgpgout", 0)
            .machine("vmstat", "workingset_refault_file", 900)
            .machine("vmstat", "pgscan_kswapd", 1000)
            .machine("vmstat", "pgsteal_kswapd", 950)
            .task("taskstats", "blkio_delay_total_ns", 900_000_000)
            .task("taskstats", "freepages_delay_total_ns", 50_000_000)
    }

    #[test]
    fn file_pages_that_the_machine_evicted_and_reads_again_are_found() {
        let finding = reclaim().found(&RULE);
        // 900 ms x 900 / 1000, and the reclaim.
        assert_eq!(finding.lost().unwrap().lost_ns, 860_000_000);
        assert_eq!(finding.confidence, Confidence { agreeing: 3, asked: 3 });
        assert!(!finding.condition.contains("without success"), "{}", finding.condition);
        let vain = reclaim().machine("vmstat", "pgscan_kswapd", 9000);
        assert!(vain.found(&RULE).condition.contains("without success"));
    }

    #[test]
    fn a_file_that_is_read_for_the_first_time_costs_no_refault() {
        let cold = reclaim().machine("vmstat", "workingset_refault_file", 0).task(
            "taskstats",
            "freepages_delay_total_ns",
            5_000_000,
        );
        assert!(
            matches!(cold.verdict(&RULE), Err(NoFinding::RuledOut(why)) if why.contains("less than 1 %"))
        );
    }

    #[test]
    fn what_a_control_group_evicts_is_not_the_machines() {
        let confined = reclaim().machine("vmstat", "pgsteal_kswapd", 20);
        assert!(matches!(confined.verdict(&RULE),
            Err(NoFinding::RuledOut(why)) if why.contains("a control group or another process")));
        let none = reclaim().machine("vmstat", "pgsteal_kswapd", 0);
        assert!(matches!(none.verdict(&RULE), Err(NoFinding::RuledOut(_))));
    }

    #[test]
    fn without_delays_each_task_pays_for_its_major_faults() {
        // Most of the 900 pages that came back were read ahead: 100 faults waited for them.
        let bare = reclaim().without_task("taskstats").cost(Operation::FileRefault, 1e6);
        let of_faults = |faults| {
            let bare = bare.clone().machine("vmstat", "pgmajfault", faults);
            bare.task("task_stat", "majflt", faults)
        };
        let faults = of_faults(100);
        let expected = LostTime::of_threads(0.9 * 100e6, 1, 1e9);
        assert_eq!(faults.found(&RULE).price, Price::Known(expected));
        // What reads them without faults waits as well, and pressure shows it.
        let read = of_faults(5);
        assert_eq!(read.unpriced(&RULE), None);
        let pressed = read.machine("psi", "io_some_us", 500_000);
        assert_eq!(pressed.unpriced(&RULE), Some(LostTime::of_wall(4.5e8, 1_000_000_000)));
        let both = faults.clone().machine("psi", "io_some_us", 500_000);
        assert_eq!(both.unpriced(&RULE).unwrap().lost_ns, 450_000_000, "too few faults");
        assert!(faults.machine("psi", "io_some_us", 90_000).found(&RULE).lost().is_some());
    }

    #[test]
    fn without_a_price_it_is_found_if_all_else_agrees() {
        let bare = reclaim().without_task("taskstats");
        assert_eq!(bare.unpriced(&RULE), None);
        let pressed = bare.clone().machine("psi", "io_some_us", 9_000);
        let at_least = LostTime::of_wall(8.1e6, 1_000_000_000);
        assert_eq!(pressed.unpriced(&RULE), Some(at_least), "a lower bound rules nothing out");
        let few = bare.machine("vmstat", "workingset_refault_file", 9);
        assert!(few.unable(&RULE).contains("kernel.task_delayacct"));
        assert!(matches!(Second::bare().verdict(&RULE), Err(NoFinding::Unable(_))));
    }
}
