//! What the kernel counted while runs were under way.

use model::{CounterSet, Line, Run};

/// Shortest time between two readings that a rate is made of, in ns.
const SHORTEST_NS: u64 = 1_000_000;

/// Something that is shown over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Series {
    /// What it is, with its unit.
    pub(crate) title: &'static str,
    /// Source of its counters.
    source: &'static str,
    /// Names of the counters that are added up.
    names: &'static [&'static str],
    /// What is done with them.
    kind: Kind,
}

/// What is done with a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Microseconds by the second, as a percentage.
    Share,
    Rate,
    /// KiB at a moment, in MiB.
    Level,
}
use Kind::{Level, Rate, Share};

const fn series(
    title: &'static str,
    source: &'static str,
    names: &'static [&'static str],
    kind: Kind,
) -> Series {
    Series { title, source, names, kind }
}

const REFAULTS: &[&str] = &["workingset_refault_anon", "workingset_refault_file"];

/// What can be shown, in the order in which it is.
pub(crate) const SERIES: [Series; 12] = [
    series("Memory pressure of the group, % of time", "memcg_psi", &["memory_some_us"], Share),
    series("Memory pressure, % of time", "psi", &["memory_some_us"], Share),
    series("I/O pressure, % of time", "psi", &["io_some_us"], Share),
    series("CPU pressure, % of time", "psi", &["cpu_some_us"], Share),
    series("Major faults a second", "vmstat", &["pgmajfault"], Rate),
    series("Refaults a second", "vmstat", REFAULTS, Rate),
    series("Pages swapped in and out a second", "vmstat", &["pswpin", "pswpout"], Rate),
    series("Pages scanned by direct reclaim a second", "vmstat", &["pgscan_direct"], Rate),
    series("TLB shootdowns a second", "interrupts", &["TLB"], Rate),
    series("Context switches a second", "stat", &["ctxt"], Rate),
    series("Dirty and under writeback, MiB", "meminfo", &["Dirty_kb", "Writeback_kb"], Level),
    series("Memory available, MiB", "meminfo", &["MemAvailable_kb"], Level),
];

/// The series of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Name of the run.
    pub run_id: String,
    /// Its load.
    pub load: String,
    /// How long it took, in ns.
    pub length_ns: u64,
    /// The longest delay of a response in it, in ns; 0 without responses.
    pub worst_ns: u64,
    /// Of each of [`SERIES`] the moments, in ns from the start of the run, and values.
    pub series: Vec<Vec<(u64, f64)>>,
}

impl Timeline {
    /// The counters of a run over time.
    pub fn of(run: &Run) -> Self {
        let mut moments: Vec<(u64, &CounterSet)> =
            run.lines.iter().flat_map(Line::readings).collect();
        moments.sort_by_key(|(at_ns, _)| *at_ns);
        let header = run.header.as_ref();
        Self {
            run_id: header.map_or_else(String::new, |header| header.run_id.clone()),
            load: header.map_or_else(String::new, |header| header.spec.load.name.clone()),
            length_ns: run.lines.iter().filter_map(Line::at_ns).max().unwrap_or(0),
            worst_ns: run.samples().map(model::SampleRecord::delay_ns).max().unwrap_or(0),
            series: SERIES.iter().map(|series| series.values(&moments)).collect(),
        }
    }
}

impl Series {
    fn reading(&self, counters: &CounterSet) -> Option<u64> {
        let source = counters.get(self.source)?;
        self.names.iter().filter_map(|name| source.get(*name).copied()).reduce(u64::saturating_add)
    }

    fn values(&self, moments: &[(u64, &CounterSet)]) -> Vec<(u64, f64)> {
        let readings = moments.iter();
        let mut readings: Vec<(u64, u64)> = readings
            .filter_map(|(at_ns, counters)| Some((*at_ns, self.reading(counters)?)))
            .collect();
        if self.kind == Level {
            readings.dedup_by_key(|(at_ns, _)| *at_ns);
            return readings.into_iter().map(|(at_ns, kib)| (at_ns, kib as f64 / 1024.0)).collect();
        }
        readings.dedup_by(|(at_ns, _), (before_ns, _)| *at_ns - *before_ns < SHORTEST_NS);
        let pairs = readings.windows(2).filter_map(|pair| {
            let [(before_ns, before), (at_ns, count)] = [pair[0], pair[1]];
            // A counter that went backwards is one of somebody else.
            let grown = count.checked_sub(before)?;
            let rate = grown as f64 / (at_ns - before_ns) as f64 * 1e9;
            Some((at_ns, if self.kind == Share { (rate / 1e4).min(100.0) } else { rate }))
        });
        pairs.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(count: u64) -> CounterSet {
        let counters = model::Values::from([("memory_some_us".into(), count)]);
        CounterSet::from([("psi".into(), counters)])
    }

    #[test]
    fn a_rate_is_of_what_was_counted_between_two_readings() {
        let sets = [reading(0), reading(500_000), reading(400_000), reading(500_000)];
        let moments: Vec<(u64, &CounterSet)> =
            [0, 1_000_000_000, 2_000_000_000, 2_100_000_000].into_iter().zip(&sets).collect();
        assert_eq!(SERIES[1].values(&moments), [(1_000_000_000, 50.0), (2_100_000_000, 100.0)]);
        assert_eq!(SERIES[0].values(&moments), [], "what was not counted is absent");
    }
}
