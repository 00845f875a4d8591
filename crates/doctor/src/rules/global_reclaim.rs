//! The machine evicts file pages for want of memory and reads them again.

use crate::evidence::NOTE_SHARE;
use crate::waits::{
    Traffic, by_major_faults, lost_of_pressure, lost_of_tasks, part_of_wall, price_of_waits,
};
use crate::{
    Change, Confidence, Evidence, Family, Finding, Interval, Operation, Price, Provocation, Rule,
    Scope, UnitCosts, Verdict,
};

/// From this many pages reclaimed by the machine for each file page that comes back on, the machine
/// has evicted it, and not a control group or somebody who asked for it: those do not count in
/// `pgsteal_kswapd` and `pgsteal_direct` of `/proc/vmstat`.
const STEALS_PER_REFAULT: f64 = 0.5;
/// Below this share of pages scanned that could be reclaimed, reclaim works in vain (methods.md,
/// rule 9).
const IN_VAIN: f64 = 0.3;

/// Reclaim of the whole machine.
pub(crate) const RULE: Rule = Rule {
    name: "global-reclaim",
    family: Family::Reclaim,
    about: "the machine evicts file pages for want of memory and reads them again",
    cost: "of each task: block I/O delay x file refaults / pages read, and reclaim delay x file \
           share of refaults; without delays: major faults of each task x file refaults / \
           pages read x cost of one (calibrated), or at least the pressure of I/O (some) x the same \
           share",
    provocation: Provocation::Load("provoke-global-reclaim"),
    look,
};

/// Pages that the machine looked at and reclaimed, whoever did it.
struct Reclaimed {
    scanned: f64,
    stolen: f64,
    stalls: f64,
}

impl Reclaimed {
    fn of(machine: &Change<'_>) -> Option<Self> {
        let grown = |name: &str| machine.grown("vmstat", name).map(|value| value as f64);
        let direct = |name: &str| grown(name).unwrap_or(0.0);
        Some(Self {
            scanned: grown("pgscan_kswapd")? + direct("pgscan_direct"),
            stolen: grown("pgsteal_kswapd")? + direct("pgsteal_direct"),
            stalls: [
                "allocstall_dma",
                "allocstall_dma32",
                "allocstall_normal",
                "allocstall_movable",
            ]
            .map(direct)
            .iter()
            .sum(),
        })
    }
}

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> Verdict {
    let machine = interval.machine();
    let (Some(traffic), Some(reclaimed)) =
        (Traffic::in_interval(interval), Reclaimed::of(&machine))
    else {
        return Verdict::Unable("vmstat does not tell what was reclaimed and came back".to_owned());
    };
    if reclaimed.stolen == 0.0 {
        return Verdict::RuledOut("the machine reclaimed nothing for want of memory".to_owned());
    }
    if reclaimed.stolen < STEALS_PER_REFAULT * traffic.file_refaults {
        return Verdict::RuledOut(format!(
            "{} file pages came back, but the machine reclaimed only {} for want of memory: a \
             control group or somebody else evicts them",
            traffic.file_refaults, reclaimed.stolen
        ));
    }
    let price = price(interval, costs, &traffic);
    if price.is_negligible() {
        return Verdict::RuledOut(format!(
            "{} pages were reclaimed and {} file pages came back, which took less than 1 % of \
             anybody's time",
            reclaimed.stolen, traffic.file_refaults
        ));
    }
    let refault_share = traffic.share_of_reads(traffic.file_refaults);
    let mut evidence = Vec::from_iter(price.evidence(NOTE_SHARE));
    evidence.extend([
        Evidence::of("vmstat/workingset_refault_file per page read", refault_share, 0.5),
        Evidence::of(
            "vmstat/pgsteal (kswapd and direct) per file refault",
            reclaimed.stolen / traffic.file_refaults.max(1.0),
            STEALS_PER_REFAULT,
        ),
        Evidence::told("vmstat/allocstall", reclaimed.stalls),
    ]);
    let yield_share = reclaimed.stolen / reclaimed.scanned.max(1.0);
    evidence.push(Evidence::told("vmstat/pgsteal per page scanned", yield_share));
    let in_vain = if yield_share < IN_VAIN { ", most of it in vain" } else { "" };
    let found = Finding {
        rule: RULE.name,
        family: RULE.family,
        scope: Scope::Machine,
        condition: format!(
            "{} pages were reclaimed{in_vain}, and {} file pages were read again",
            reclaimed.stolen, traffic.file_refaults
        ),
        price,
        confidence: Confidence::from(evidence.as_slice()),
        evidence,
        counterfactual: None,
        remedy: "add memory, or confine what streams through the page cache (memory.high, \
                 posix_fadvise DONTNEED); memory.low keeps what matters; a larger \
                 vm.watermark_scale_factor lets kswapd begin earlier"
            .to_owned(),
        confirm: "grep -E 'pgsteal|workingset_refault_file|allocstall' /proc/vmstat".to_owned(),
    };
    found.verdict(interval, traffic.file_refaults)
}

fn price(interval: &Interval<'_>, costs: &UnitCosts, traffic: &Traffic) -> Price {
    let of_reads = traffic.share_of_reads(traffic.file_refaults);
    let measured = lost_of_tasks(interval, None, |task| {
        task.ns("blkio") * of_reads + task.ns("freepages") * (1.0 - traffic.anon_share())
    });
    let by_faults = || {
        let cost = (costs, Operation::FileRefault);
        by_major_faults(interval, (None, traffic.file_refaults), traffic, cost)
    };
    let pressure = || Some(part_of_wall(lost_of_pressure(interval, "io_some_us")?, of_reads));
    price_of_waits(measured, by_faults, pressure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LostTime;
    use crate::sample::Second;

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
        assert_eq!(finding.lost().unwrap().lost_ns(), 860_000_000);
        assert_eq!(finding.confidence, Confidence { agreeing: 3, asked: 3 });
        assert!(!finding.condition.contains("in vain"), "{}", finding.condition);
        let vain = reclaim().machine("vmstat", "pgscan_kswapd", 9000);
        assert!(vain.found(&RULE).condition.contains("in vain"));
    }

    #[test]
    fn a_file_that_is_read_for_the_first_time_costs_no_refault() {
        let cold = reclaim().machine("vmstat", "workingset_refault_file", 0).task(
            "taskstats",
            "freepages_delay_total_ns",
            5_000_000,
        );
        assert!(
            matches!(cold.verdict(&RULE), Verdict::RuledOut(why) if why.contains("less than 1 %"))
        );
    }

    #[test]
    fn what_a_control_group_evicts_is_not_the_machines() {
        let confined = reclaim().machine("vmstat", "pgsteal_kswapd", 20);
        assert!(matches!(confined.verdict(&RULE),
            Verdict::RuledOut(why) if why.contains("a control group or somebody else")));
        let none = reclaim().machine("vmstat", "pgsteal_kswapd", 0);
        assert!(matches!(none.verdict(&RULE), Verdict::RuledOut(_)));
    }

    #[test]
    fn without_delays_each_task_pays_for_its_major_faults() {
        // Of 900 pages that came back most were read ahead: 100 faults waited for them.
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
        assert_eq!(both.unpriced(&RULE).unwrap().lost_ns(), 450_000_000, "faults say too little");
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
        assert!(matches!(Second::bare().verdict(&RULE), Verdict::Unable(_)));
    }
}
