//! The kernel's counters over the time of runs.

use model::{CounterSet, Line, Run};

/// Shortest time between two readings for a rate, in ns.
const SHORTEST_NS: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Microseconds per second, as a percentage.
    Share,
    Rate,
    /// KiB, in MiB.
    Level,
}
use Kind::{Level, Rate, Share};

/// A title with its unit, the source and the names of counters that are added up, and their kind.
type Series = (&'static str, &'static str, &'static [&'static str], Kind);

const REFAULTS: &[&str] = &["workingset_refault_anon", "workingset_refault_file"];

pub(crate) const SERIES: [Series; 12] = [
    ("Memory pressure of the group, % of time", "memcg_psi", &["memory_some_us"], Share),
    ("Memory pressure, % of time", "psi", &["memory_some_us"], Share),
    ("I/O pressure, % of time", "psi", &["io_some_us"], Share),
    ("CPU pressure, % of time", "psi", &["cpu_some_us"], Share),
    ("Major faults a second", "vmstat", &["pgmajfault"], Rate),
    ("Refaults a second", "vmstat", REFAULTS, Rate),
    ("Pages swapped in and out a second", "vmstat", &["pswpin", "pswpout"], Rate),
    ("Pages scanned by direct reclaim a second", "vmstat", &["pgscan_direct"], Rate),
    ("TLB shootdowns a second", "interrupts", &["TLB"], Rate),
    ("Context switches a second", "stat", &["ctxt"], Rate),
    ("Dirty and under writeback, MiB", "meminfo", &["Dirty_kb", "Writeback_kb"], Level),
    ("Memory available, MiB", "meminfo", &["MemAvailable_kb"], Level),
];

/// The series of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    pub(crate) load: String,
    pub(crate) length_ns: u64,
    /// The longest delay of a response in ns; 0 without responses.
    pub(crate) worst_ns: u64,
    /// For each of [`SERIES`] timestamps in ns from the start of the run, and values.
    pub(crate) series: Vec<Vec<(u64, f64)>>,
}

impl Timeline {
    pub(crate) fn from_run(run: &Run) -> Self {
        let mut readings: Vec<(u64, &CounterSet)> =
            run.lines.iter().flat_map(Line::readings).collect();
        readings.sort_by_key(|(at_ns, _)| *at_ns);
        let header = run.header.as_ref();
        Self {
            load: header.map_or_else(String::new, |header| header.spec.load.name.clone()),
            length_ns: run.lines.iter().filter_map(Line::at_ns).max().unwrap_or(0),
            worst_ns: run.samples().map(model::SampleRecord::delay_ns).max().unwrap_or(0),
            series: SERIES.iter().map(|series| values(series, &readings)).collect(),
        }
    }
}

fn values((_, source, names, kind): &Series, readings: &[(u64, &CounterSet)]) -> Vec<(u64, f64)> {
    let counts = readings.iter().filter_map(|(at_ns, counters)| {
        let source = counters.get(*source)?;
        let counts = names.iter().filter_map(|name| source.get(*name).copied());
        Some((*at_ns, counts.reduce(u64::saturating_add)?))
    });
    let mut counts: Vec<(u64, u64)> = counts.collect();
    if *kind == Level {
        counts.dedup_by_key(|(at_ns, _)| *at_ns);
        return counts.into_iter().map(|(at_ns, kib)| (at_ns, kib as f64 / 1024.0)).collect();
    }
    counts.dedup_by(|(at_ns, _), (before_ns, _)| *at_ns - *before_ns < SHORTEST_NS);
    let pairs = counts.windows(2).filter_map(|pair| {
        let [(before_ns, before), (at_ns, count)] = [pair[0], pair[1]];
        // A counter that went backwards was replaced.
        let grown = count.checked_sub(before)?;
        let rate = grown as f64 / (at_ns - before_ns) as f64 * 1e9;
        Some((at_ns, if *kind == Share { (rate / 1e4).min(100.0) } else { rate }))
    });
    pairs.collect()
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
        let readings: Vec<(u64, &CounterSet)> =
            [0, 1_000_000_000, 2_000_000_000, 2_100_000_000].into_iter().zip(&sets).collect();
        let found = [(1_000_000_000, 50.0), (2_100_000_000, 100.0)];
        assert_eq!(values(&SERIES[1], &readings), found);
        assert_eq!(values(&SERIES[0], &readings), [], "what was not counted is absent");
    }
}
