//! The machine evicts file pages for want of memory and reads them again.

use crate::finding::NOTE_SHARE;
use crate::waits::{Lost, Traffic, lost_of_pressure, lost_of_tasks};
use crate::{
    Change, Confidence, Evidence, Family, Finding, Interval, Operation, Provocation, Rule, Scope,
    UnitCosts, Verdict,
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
           share of refaults; without delays: file refaults x cost of one (calibrated), or \
           pressure of I/O (some) x file refaults / pages read",
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
    let (Some(traffic), Some(reclaimed)) = (Traffic::of(&machine), Reclaimed::of(&machine)) else {
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
    let Some(lost) = lost(interval, costs, &traffic) else {
        return Verdict::Unable(
            "neither delays of tasks (root, kernel.task_delayacct=1) nor the cost of a refault nor \
             pressure (PSI) is known"
                .to_owned(),
        );
    };
    if lost.share < NOTE_SHARE {
        return Verdict::RuledOut(format!(
            "{} pages were reclaimed and {} file pages came back, which took less than 1 % of \
             anybody's time",
            reclaimed.stolen, traffic.file_refaults
        ));
    }
    let refault_share = traffic.share_of_reads(traffic.file_refaults);
    let mut evidence = vec![
        Evidence::of("share of time lost", lost.share, NOTE_SHARE),
        Evidence::of("vmstat/workingset_refault_file per page read", refault_share, 0.5),
        Evidence::of(
            "vmstat/pgsteal (kswapd and direct) per file refault",
            reclaimed.stolen / traffic.file_refaults.max(1.0),
            STEALS_PER_REFAULT,
        ),
        Evidence::told("vmstat/allocstall", reclaimed.stalls),
    ];
    let yield_share = reclaimed.stolen / reclaimed.scanned.max(1.0);
    evidence.push(Evidence::told("vmstat/pgsteal per page scanned", yield_share));
    let in_vain = if yield_share < IN_VAIN { ", most of it in vain" } else { "" };
    Verdict::Found(vec![Finding {
        rule: RULE.name,
        family: RULE.family,
        scope: Scope::Machine,
        condition: format!(
            "{} pages were reclaimed{in_vain}, and {} file pages were read again",
            reclaimed.stolen, traffic.file_refaults
        ),
        lost_ns: lost.ns as u64,
        lost_share: lost.share,
        is_bound: false,
        confidence: Confidence::from(evidence.as_slice()),
        evidence,
        counterfactual: None,
        remedy: "add memory, or confine what streams through the page cache (memory.high, \
                 posix_fadvise DONTNEED); memory.low keeps what matters; a larger \
                 vm.watermark_scale_factor lets kswapd begin earlier"
            .to_owned(),
        confirm: "grep -E 'pgsteal|workingset_refault_file|allocstall' /proc/vmstat".to_owned(),
    }])
}

fn lost(interval: &Interval<'_>, costs: &UnitCosts, traffic: &Traffic) -> Option<Lost> {
    let of_reads = traffic.share_of_reads(traffic.file_refaults);
    let of_tasks = lost_of_tasks(interval, None, |task| {
        task.ns("blkio") * of_reads + task.ns("freepages") * (1.0 - traffic.anon_share())
    });
    let elapsed_ns = interval.elapsed_ns() as f64;
    let calibrated = || {
        let ns = costs.ns(Operation::FileRefault)?;
        Some(Lost::of(traffic.file_refaults * ns, elapsed_ns))
    };
    let pressure = || {
        let io = lost_of_pressure(interval, "io_some_us")?;
        Some(Lost::of(io.ns * of_reads, elapsed_ns))
    };
    of_tasks.or_else(calibrated).or_else(pressure)
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(finding.lost_ns, 860_000_000);
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
    fn without_delays_costs_or_pressure_stand_in() {
        let bare = reclaim().without_task("taskstats");
        assert!(matches!(bare.clone().verdict(&RULE), Verdict::Unable(_)));
        let priced = bare.clone().cost(Operation::FileRefault, 100_000.0);
        assert_eq!(priced.found(&RULE).lost_ns, 90_000_000);
        let pressed = bare.machine("psi", "io_some_us", 500_000);
        assert_eq!(pressed.found(&RULE).lost_ns, 450_000_000);
        assert!(matches!(Second::bare().verdict(&RULE), Verdict::Unable(_)));
    }
}
