//! Anonymous pages are swapped out and come back: there is less memory than processes use.

use super::*;

/// Share of refaults among pages swapped in below which a program wakes up (methods.md, rule 2).
const REFAULT_SHARE: f64 = 0.5;
/// Evictions per page swapped in from which the two keep pace.
const EVICTED_SHARE: f64 = 0.5;

pub(crate) const RULE: Rule = Rule {
    name: "swap-thrash",
    family: Family::Reclaim,
    about: "anonymous pages are swapped out and come back",
    cost: "swap-in delay of each task (at least its block I/O delay x swapped in / read), and its \
           reclaim delay x anonymous share of refaults; without delays: major faults of \
           each task x swapped in / read x cost of one (calibrated), or at least the pressure of \
           memory (some)",
    provocation: Provocation::Load("provoke-swap-thrash"),
    remedy: "run less at a time or add memory; zswap makes each swap-in cheaper; \
             /sys/kernel/mm/lru_gen/min_ttl_ms or a daemon such as systemd-oomd ends it",
    confirm: "vmstat 1 (si and so); thrashlab footprint --all --no-clear --top 20",
    look,
};

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> RuleResult {
    let traffic = Traffic::in_interval(interval)
        .ok_or_else(|| unable("vmstat does not count what was read and what came back"))?;
    let pages = traffic.swapped_in;
    // A page not written since it was swapped in is evicted without I/O.
    let evicted = interval.vmstat("pgsteal_anon").unwrap_or(0.0).max(traffic.swapped_out);
    if pages == 0.0 || evicted == 0.0 {
        return ruled_out(format!(
            "{pages} pages were swapped in and {evicted} anonymous ones evicted; thrashing is both"
        ));
    }
    let refault_share = traffic.anon_refaults / pages;
    if refault_share < REFAULT_SHARE {
        return ruled_out(format!(
            "of {pages} pages swapped in, {} had been evicted recently: a program wakes up",
            traffic.anon_refaults
        ));
    }
    let of_reads = traffic.share_of_reads(pages);
    let price = Waits {
        group: None,
        reads: Some((pages, costs.ns(Operation::SwapIn))),
        pressure: ("memory_some_us", 1.0),
    }
    .price(interval, &traffic, |task| {
        let read_ns = task.delay_ns("swapin").max(task.delay_ns("blkio") * of_reads);
        read_ns + task.delay_ns("freepages") * traffic.anon_share()
    });
    let condition = format!(
        "{pages} pages were swapped in and {evicted} anonymous ones evicted: processes use more \
         memory than there is"
    );
    let full = interval.machine().pressure("psi", "memory_full_us").map(|lost| lost.lost_share);
    RULE.of_machine(price, condition)
        .speaks("vmstat/workingset_refault_anon per page swapped in", refault_share, REFAULT_SHARE)
        .speaks("anonymous pages evicted per page swapped in", evicted / pages, EVICTED_SHARE)
        .notes("vmstat/pswpin", pages)
        .notes("psi/memory_full share of the time", full)
        .if_frequent(interval, pages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LostTime;
    use crate::rule::NoFinding;
    use crate::sample::Second;
    use crate::{Confidence, Price};

    /// A second in which one process waits for 800 ms of swap-ins.
    fn thrash() -> Second {
        Second::bare()
            .machine("vmstat", "pswpin", 400)
            .machine("vmstat", "pswpout", 390)
            .machine("vmstat", "pgpgin", 1600)
            .machine("vmstat", "pgpgout", 1560)
            .machine("vmstat", "workingset_refault_anon", 395)
            .machine("vmstat", "workingset_refault_file", 0)
            .task("taskstats", "swapin_delay_total_ns", 800_000_000)
            .task("taskstats", "blkio_delay_total_ns", 700_000_000)
    }

    #[test]
    fn pages_that_go_and_come_are_thrash() {
        let finding = thrash().found(&RULE);
        assert_eq!(
            (finding.lost().unwrap().lost_ns, finding.lost().unwrap().lost_share),
            (800_000_000, 0.8)
        );
        assert_eq!(finding.confidence, Confidence { agreeing: 3, asked: 3 });
    }

    #[test]
    fn a_program_that_wakes_up_is_none() {
        let woken = thrash().machine("vmstat", "workingset_refault_anon", 3);
        assert!(
            matches!(woken.verdict(&RULE), Err(NoFinding::RuledOut(why)) if why.contains("wakes up"))
        );
        let clean = thrash().machine("vmstat", "pswpout", 0).machine("vmstat", "pgsteal_anon", 399);
        assert_eq!(
            clean.found(&RULE).lost().unwrap().lost_share,
            0.8,
            "clean pages are not written again"
        );
        let cold = thrash().machine("vmstat", "pswpout", 0);
        assert!(
            matches!(cold.verdict(&RULE), Err(NoFinding::RuledOut(why)) if why.contains("is both"))
        );
    }

    #[test]
    fn without_delays_costs_or_pressure_stand_in() {
        let bare = thrash().without_task("taskstats");
        assert_eq!(bare.unpriced(&RULE), None, "all other counters agree");
        let faults =
            bare.clone().machine("vmstat", "pgmajfault", 300).task("task_stat", "majflt", 300);
        let priced = faults.cost(Operation::SwapIn, 1_000_000.0);
        let expected = LostTime::of_threads(3e8, 1, 1e9);
        assert_eq!(priced.found(&RULE).price, Price::Known(expected));
        let pressed = bare.machine("psi", "memory_some_us", 300_000);
        assert_eq!(pressed.unpriced(&RULE), Some(LostTime::of_wall(3e8, 1_000_000_000)));
        assert!(matches!(Second::bare().verdict(&RULE), Err(NoFinding::Unable(_))));
    }
}
