//! Processes write faster than the disk, and are throttled.

use super::*;

/// Share of the ceiling from which writers are throttled (methods.md, rule 13).
const NEAR_CEILING: f64 = 0.9;
/// Share of time with a thread waiting for I/O from which it matters (methods.md, rule 13).
const IO_SHARE: f64 = 0.10;

pub(crate) const RULE: Rule = Rule {
    name: "writeback-throttle",
    family: Family::Writeback,
    about: "data is written faster than the disk accepts it, and writers are throttled",
    cost: "block I/O delay of each task x pages written / all I/O of pages, without those swapped \
           out; without delays: at least the pressure of I/O (some) x the same share",
    provocation: Provocation::Load("provoke-writeback-throttle"),
    remedy: "write less or elsewhere; io.max or ionice for the stream; a smaller \
             vm.dirty_bytes makes each wait shorter, a larger one delays the first one",
    confirm: "grep -E 'nr_dirty|nr_writeback|nr_throttled' /proc/vmstat; cat /proc/pressure/io",
    look,
};

fn look(interval: &Interval<'_>, _: &UnitCosts) -> RuleResult {
    let machine = interval.machine();
    // Throttling starts between both thresholds: at the mean (`dirty_freerun_ceiling`,
    // `mm/page-writeback.c`).
    let sum = |one, two| Some(machine.level("vmstat", one)? + machine.level("vmstat", two)?);
    let ceiling = sum("nr_dirty_threshold", "nr_dirty_background_threshold");
    let dirty = sum("nr_dirty", "nr_writeback").zip(ceiling);
    let (traffic, (dirty, ceiling)) = Traffic::in_interval(interval)
        .zip(dirty)
        .ok_or_else(|| unable("vmstat does not count what is dirty and what was written"))?;
    let dirty = dirty / (ceiling / 2.0).max(1.0);
    if dirty < NEAR_CEILING {
        return ruled_out(format!(
            "{:.0} % of the threshold that throttles writers is dirty",
            100.0 * dirty
        ));
    }
    let written = (traffic.written - traffic.swapped_out).max(0.0);
    let write_share = written / (traffic.read + traffic.written).max(1.0);
    let price = Waits { group: None, reads: None, pressure: ("io_some_us", write_share) }.price(
        interval,
        &traffic,
        |task| task.delay_ns("blkio") * write_share,
    );
    let condition = format!(
        "{written} pages were written, and dirty pages are at their limit: writers wait for the \
         disk"
    );
    let io_share = machine.pressure("psi", "io_some_us").map(|lost| lost.lost_share);
    RULE.of_machine(price, condition)
        .speaks("vmstat/nr_dirty + nr_writeback per ceiling", dirty, NEAR_CEILING)
        .notes("pages written per page of I/O", write_share)
        .speaks("psi/io_some share of the time", io_share, IO_SHARE)
        .if_frequent(interval, written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::LostTime;
    use crate::rule::NoFinding;
    use crate::sample::Second;

    /// A second of which a writer waits 800 ms.
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
        assert_eq!(finding.lost().unwrap().lost_ns, 720_000_000);
        assert_eq!(finding.confidence, Confidence { agreeing: 3, asked: 3 });
        let bare = stream().without_task("taskstats");
        assert_eq!(bare.unpriced(&RULE), Some(LostTime::of_wall(765e6, 1_000_000_000)));
    }

    #[test]
    fn reads_and_writes_that_nobody_waits_for_are_not() {
        let few = stream().level("vmstat", "nr_dirty", 700);
        assert!(
            matches!(few.verdict(&RULE), Err(NoFinding::RuledOut(why)) if why.contains("87 %"))
        );
        // What is read is waited for, even while much is dirty.
        let reads = stream().machine("vmstat", "pgpgout", 4).machine("vmstat", "pgpgin", 4000);
        assert!(matches!(reads.verdict(&RULE), Err(NoFinding::RuledOut(_))));
        // What is swapped out is not a write by any process.
        let swaps = stream().machine("vmstat", "pswpout", 900);
        assert!(matches!(swaps.verdict(&RULE), Err(NoFinding::RuledOut(_))));
        assert!(matches!(Second::bare().verdict(&RULE), Err(NoFinding::Unable(_))));
    }
}
