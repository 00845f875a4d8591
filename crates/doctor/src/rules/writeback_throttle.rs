//! More is written than the disk takes, and writers are made to wait.

use crate::evidence::NOTE_SHARE;
use crate::waits::{Traffic, lost_of_pressure, lost_of_tasks, part_of_wall, price_of_waits};
use crate::{
    Change, Confidence, Evidence, Family, Finding, Interval, Price, Provocation, Rule, Scope,
    UnitCosts, Verdict,
};

/// Share of the ceiling from which on writers are throttled (methods.md, rule 13: 90 %).
const NEAR_CEILING: f64 = 0.9;
/// From this share of the time with somebody waiting for I/O on, waiting for it matters (methods.md,
/// rule 13).
const IO_SHARE: f64 = 0.10;

/// Throttled writers.
pub(crate) const RULE: Rule = Rule {
    name: "writeback-throttle",
    family: Family::Writeback,
    about: "more is written than the disk takes, and writers are made to wait",
    cost: "block I/O delay of each task x pages written / all I/O of pages, without those swapped \
           out; without delays: at least the pressure of I/O (some) x the same share",
    provocation: Provocation::Load("provoke-writeback-throttle"),
    look,
};

/// What is dirty or under way to the disk, against the ceiling above which writers wait: the mean
/// of both thresholds (`dirty_freerun_ceiling` in the kernel's `mm/page-writeback.c`).
fn dirty_per_ceiling(machine: &Change<'_>) -> Option<f64> {
    let level = |name: &str| machine.level("vmstat", name).map(|value| value as f64);
    let ceiling = (level("nr_dirty_threshold")? + level("nr_dirty_background_threshold")?) / 2.0;
    Some((level("nr_dirty")? + level("nr_writeback")?) / ceiling.max(1.0))
}

fn look(interval: &Interval<'_>, _: &UnitCosts) -> Verdict {
    let machine = interval.machine();
    let (Some(traffic), Some(dirty)) =
        (Traffic::in_interval(interval), dirty_per_ceiling(&machine))
    else {
        return Verdict::Unable(
            "vmstat does not tell what is dirty and what was written".to_owned(),
        );
    };
    if dirty < NEAR_CEILING {
        return Verdict::RuledOut(format!(
            "{:.0} % of what makes writers wait is dirty",
            100.0 * dirty
        ));
    }
    let written = (traffic.written - traffic.swapped_out).max(0.0);
    let write_share = written / (traffic.read + traffic.written).max(1.0);
    let price = price(interval, write_share);
    if price.is_negligible() {
        return Verdict::RuledOut(format!(
            "{written} pages were written; waiting for that took less than 1 % of anybody's time"
        ));
    }
    let mut evidence = Vec::from_iter(price.evidence(NOTE_SHARE));
    evidence.extend([
        Evidence::of("vmstat/nr_dirty + nr_writeback per ceiling", dirty, NEAR_CEILING),
        Evidence::told("pages written per page of I/O", write_share),
    ]);
    if let Some(io) = lost_of_pressure(interval, "io_some_us") {
        evidence.push(Evidence::of("psi/io_some share of the time", io.share(), IO_SHARE));
    }
    let found = Finding {
        rule: RULE.name,
        family: RULE.family,
        scope: Scope::Machine,
        condition: format!(
            "{written} pages were written, and as much as may be is still dirty: writers wait for \
             the disk"
        ),
        price,
        confidence: Confidence::from(evidence.as_slice()),
        evidence,
        counterfactual: None,
        remedy: "write less or elsewhere; io.max or ionice for the stream; a smaller \
                 vm.dirty_bytes makes each wait shorter, a larger one puts the first one off"
            .to_owned(),
        confirm: "grep -E 'nr_dirty|nr_writeback|nr_throttled' /proc/vmstat; cat /proc/pressure/io"
            .to_owned(),
    };
    found.verdict(interval, written)
}

fn price(interval: &Interval<'_>, write_share: f64) -> Price {
    let measured = lost_of_tasks(interval, None, |task| task.ns("blkio") * write_share);
    let pressure = || Some(part_of_wall(lost_of_pressure(interval, "io_some_us")?, write_share));
    price_of_waits(measured, || None, pressure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LostTime;
    use crate::sample::Second;

    /// A second in which a writer waits for 800 ms of it.
    fn stream() -> Second {
        Second::bare()
            .machine("vmstat", "pgpgin", 400)
            .machine("vmstat", "pgpgout", 3600)
            .machine("vmstat", "workingset_refault_file", 0)
            .level("vmstat", "nr_dirty", 900)
            .level("vmstat", "nr_writeback", 600)
            .level("vmstat", "nr_dirty_threshold", 2000)
            .level("vmstat", "nr_dirty_background_threshold", 1000)
            .machine("psi", "io_some_us", 850_000)
            .task("taskstats", "blkio_delay_total_ns", 800_000_000)
    }

    #[test]
    fn a_stream_of_writes_that_waits_is_found() {
        let finding = stream().found(&RULE);
        assert_eq!(finding.lost().unwrap().lost_ns(), 720_000_000);
        assert_eq!(finding.confidence, Confidence { agreeing: 3, asked: 3 });
        let bare = stream().without_task("taskstats");
        assert_eq!(bare.unpriced(&RULE), Some(LostTime::of_wall(765e6, 1_000_000_000)));
    }

    #[test]
    fn reads_and_writes_that_nobody_waits_for_are_not() {
        let few = stream().level("vmstat", "nr_dirty", 700);
        assert!(matches!(few.verdict(&RULE), Verdict::RuledOut(why) if why.contains("87 %")));
        // What is read is waited for, even while much is dirty.
        let reads = stream().machine("vmstat", "pgpgout", 4).machine("vmstat", "pgpgin", 4000);
        assert!(matches!(reads.verdict(&RULE), Verdict::RuledOut(_)));
        // What is swapped out is not a write of anybody.
        let swaps = stream().machine("vmstat", "pswpout", 900);
        assert!(matches!(swaps.verdict(&RULE), Verdict::RuledOut(_)));
        assert!(matches!(Second::bare().verdict(&RULE), Verdict::Unable(_)));
    }
}
