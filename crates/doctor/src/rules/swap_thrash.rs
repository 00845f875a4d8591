//! Anonymous pages are swapped out and come back: there is less memory than processes use.

use crate::evidence::NOTE_SHARE;
use crate::waits::{Traffic, by_major_faults, lost_of_pressure, lost_of_tasks, price_of_waits};
use crate::{
    Confidence, Evidence, Family, Finding, Interval, Operation, Price, Provocation, Rule, Scope,
    UnitCosts, Verdict,
};

/// From this share of pages swapped in on, they are pages that were evicted just before, and not
/// those of a program that has slept for long (methods.md, rule 2).
const REFAULT_SHARE: f64 = 0.5;
/// From this many evictions for each page that comes in on, the two keep pace: in the long run each
/// page that comes in drives one out.
const EVICTED_SHARE: f64 = 0.5;

/// Swap thrash of the machine.
pub(crate) const RULE: Rule = Rule {
    name: "swap-thrash",
    family: Family::Reclaim,
    about: "anonymous pages are swapped out and come back",
    cost: "swap-in delay of each task (at least its block I/O delay x swapped in / read), and its \
           reclaim delay x anonymous share of refaults; without delays: major faults of \
           each task x swapped in / read x cost of one (calibrated), or at least the pressure of \
           memory (some)",
    provocation: Provocation::Load("provoke-swap-thrash"),
    look,
};

fn look(interval: &Interval<'_>, costs: &UnitCosts) -> Verdict {
    let machine = interval.machine();
    let Some(traffic) = Traffic::in_interval(interval) else {
        return Verdict::Unable("vmstat does not tell what was read and what came back".to_owned());
    };
    let pages = traffic.swapped_in;
    // A page that was not written since it was swapped in goes out again without I/O.
    let stolen = machine.grown("vmstat", "pgsteal_anon").unwrap_or(0) as f64;
    let evicted = stolen.max(traffic.swapped_out);
    if pages == 0.0 || evicted == 0.0 {
        return Verdict::RuledOut(format!(
            "{pages} pages were swapped in and {evicted} anonymous ones evicted; thrash is both"
        ));
    }
    let refault_share = traffic.anon_refaults / pages;
    if refault_share < REFAULT_SHARE {
        return Verdict::RuledOut(format!(
            "of {pages} pages swapped in, {} had been evicted lately: a program wakes up",
            traffic.anon_refaults
        ));
    }
    let price = price(interval, costs, &traffic);
    if price.is_negligible() {
        return Verdict::RuledOut(format!(
            "{pages} pages were swapped in, which took less than 1 % of anybody's time"
        ));
    }
    let mut evidence = Vec::from_iter(price.evidence(NOTE_SHARE));
    evidence.extend([
        Evidence::of(
            "vmstat/workingset_refault_anon per page swapped in",
            refault_share,
            REFAULT_SHARE,
        ),
        Evidence::of("anonymous pages evicted per page swapped in", evicted / pages, EVICTED_SHARE),
        Evidence::told("vmstat/pswpin", pages),
    ]);
    if let Some(full) = lost_of_pressure(interval, "memory_full_us") {
        evidence.push(Evidence::told("psi/memory_full share of the time", full.share()));
    }
    let found = Finding {
        rule: RULE.name,
        family: RULE.family,
        scope: Scope::Machine,
        condition: format!(
            "{pages} pages were swapped in and {evicted} anonymous ones evicted: processes use more \
             memory than there is"
        ),
        price,
        confidence: Confidence::from(evidence.as_slice()),
        evidence,
        counterfactual: None,
        remedy: "run less at a time or add memory; zswap makes each swap-in cheaper; \
                 /sys/kernel/mm/lru_gen/min_ttl_ms or a daemon such as systemd-oomd ends it"
            .to_owned(),
        confirm: "vmstat 1 (si and so); thrashlab footprint --all --no-clear --top 20".to_owned(),
    };
    found.verdict(interval, pages)
}

fn price(interval: &Interval<'_>, costs: &UnitCosts, traffic: &Traffic) -> Price {
    let of_reads = traffic.share_of_reads(traffic.swapped_in);
    let measured = lost_of_tasks(interval, None, |task| {
        task.ns("swapin").max(task.ns("blkio") * of_reads)
            + task.ns("freepages") * traffic.anon_share()
    });
    let by_faults = || {
        let cost = (costs, Operation::SwapIn);
        by_major_faults(interval, (None, traffic.swapped_in), traffic, cost)
    };
    price_of_waits(measured, by_faults, || lost_of_pressure(interval, "memory_some_us"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LostTime;
    use crate::sample::Second;

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
            (finding.lost().unwrap().lost_ns(), finding.lost().unwrap().share()),
            (800_000_000, 0.8)
        );
        assert_eq!(finding.confidence, Confidence { agreeing: 3, asked: 3 });
    }

    #[test]
    fn a_program_that_wakes_up_is_none() {
        let woken = thrash().machine("vmstat", "workingset_refault_anon", 3);
        assert!(matches!(woken.verdict(&RULE), Verdict::RuledOut(why) if why.contains("wakes up")));
        let clean = thrash().machine("vmstat", "pswpout", 0).machine("vmstat", "pgsteal_anon", 399);
        assert_eq!(
            clean.found(&RULE).lost().unwrap().share(),
            0.8,
            "clean pages are not written again"
        );
        let cold = thrash().machine("vmstat", "pswpout", 0);
        assert!(matches!(cold.verdict(&RULE), Verdict::RuledOut(why) if why.contains("is both")));
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
        assert!(matches!(Second::bare().verdict(&RULE), Verdict::Unable(_)));
    }
}
