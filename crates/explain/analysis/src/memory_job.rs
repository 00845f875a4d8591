//! The steady state of a memory job (`vmtest`, `touch`), and its cost under each load.

use std::collections::BTreeMap;

use model::{
    BASELINE, CounterSet, EndStatus, Header, JobSpec, Line, Measure, PassRecord, Run, SubjectSpec,
    Values,
};
use serde::Serialize;
use stats::steady_from;

use crate::remarks::{headers, passes};
use crate::setup::seeds;
use crate::{Remarks, Setup, Skipped, increase};

const TOUCHES: &str = "touches";
/// First touches: a pass with any is part of the cold start.
const FIRST_TOUCHES: &str = "first_touches";

/// The steady part of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemoryWork {
    /// How many passes (rounds, or windows of time) the run has.
    pub passes: usize,
    /// Index of the first steady pass; `None` if there is none, so all count.
    pub steady_from: Option<usize>,
    /// Touches.
    pub touches: u64,
    /// Elapsed time in ns.
    pub elapsed_ns: u64,
    /// Usage by the names of the run file (`user_ns`, `minor_faults`, …).
    pub usage: Values,
    /// Processes at work.
    pub processes: Option<u64>,
    /// Loops of each process in a round, of `vmtest`.
    pub loops: Option<u64>,
    /// Counters at its beginning and its end, if they were read.
    pub counters: Option<(CounterSet, CounterSet)>,
}

impl MemoryWork {
    /// The steady part of a run with touches; a simulated run counts whole, like published ones.
    pub fn from_run(run: &Run) -> Option<Self> {
        let mut passes: Vec<(&PassRecord, Option<&CounterSet>)> = Vec::new();
        let mut before_all = None;
        for line in &run.lines {
            match line {
                Line::Pass(pass) if pass.usage.contains_key(TOUCHES) => passes.push((pass, None)),
                Line::Counters(record) => match passes.last_mut() {
                    None => before_all = Some(&record.counters),
                    Some((_, after)) => *after = after.or(Some(&record.counters)),
                },
                _ => {}
            }
        }
        if passes.is_empty() {
            return None;
        }
        let is_cold = |pass: &PassRecord| pass.usage.get(FIRST_TOUCHES).is_some_and(|n| *n > 0);
        let cold = passes.iter().rposition(|(pass, _)| is_cold(pass)).map_or(0, |last| last + 1);
        let costs: Vec<f64> = passes[cold..].iter().map(|(pass, _)| cost_of(pass)).collect();
        let steady_from = match run.header.as_ref().is_some_and(is_simulated) {
            true => Some(0),
            false => steady_from(&costs).map(|index| cold + index),
        };
        let first = steady_from.unwrap_or(0);
        let begin = first.checked_sub(1).map_or(before_all, |index| passes[index].1);
        let end = passes.last().and_then(|(_, after)| *after);
        let mut work = Self { passes: passes.len(), steady_from, ..Self::default() };
        for (pass, _) in &passes[first..] {
            work.elapsed_ns += elapsed_ns(pass);
            for (name, value) in &pass.usage {
                match name.as_str() {
                    TOUCHES => work.touches += value,
                    FIRST_TOUCHES => {}
                    "processes" => work.processes = Some(*value),
                    "loops" => work.loops = Some(*value),
                    _ => *work.usage.entry(name.clone()).or_default() += value,
                }
            }
        }
        work.counters = begin.zip(end).map(|(begin, end)| (begin.clone(), end.clone()));
        Some(work)
    }

    /// Cost of a touch in each pass of a run, in ns of elapsed time.
    pub fn pass_costs_ns(run: &Run) -> Vec<Option<f64>> {
        let passes = passes(run).filter(|pass| pass.usage.contains_key(TOUCHES));
        passes.map(|pass| Some(cost_of(pass)).filter(|cost_ns| cost_ns.is_finite())).collect()
    }

    /// Cost of a touch, in ns of elapsed time.
    pub fn cost_ns(&self) -> Option<f64> {
        (self.touches > 0).then(|| self.elapsed_ns as f64 / self.touches as f64)
    }

    /// The sum of the usage of these names; `None` if any was not measured.
    pub fn used(&self, names: &[&str]) -> Option<u64> {
        names.iter().map(|name| self.usage.get(*name).copied()).sum()
    }

    /// The increase of a counter; `None` if it was not read at both ends.
    pub fn increase(&self, source: &str, name: &str) -> Option<u64> {
        let (begin, end) = self.counters.as_ref()?;
        increase(begin, end, source, name)
    }
}

fn is_simulated(header: &Header) -> bool {
    matches!(header.spec.subject, SubjectSpec::Mmu(_))
}

pub(crate) fn elapsed_ns(pass: &PassRecord) -> u64 {
    pass.completed_ns.saturating_sub(pass.started_ns)
}

/// Cost of a touch in a pass; infinite if there was none.
fn cost_of(pass: &PassRecord) -> f64 {
    let touches = pass.usage.get(TOUCHES).copied().unwrap_or(0);
    // A pass below the clock's resolution counts as 1 ns.
    elapsed_ns(pass).max(1) as f64 / touches as f64
}

/// The result of one invocation with a memory job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryJob {
    /// The subject in words: kind, memory, CPUs, swap, kernel.
    pub place: String,
    /// The job as requested.
    pub job: Option<JobSpec>,
    /// Whether the machine is a simulated one.
    pub simulated: bool,
    /// The seeds, in ascending order.
    pub seeds: Vec<u64>,
    /// The runs in their order.
    pub rows: Vec<MemoryJobRow>,
    /// Remarks on the runs.
    #[serde(flatten)]
    pub remarks: Remarks,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryJobRow {
    /// The load.
    pub load: String,
    /// The seed.
    pub seed: u64,
    /// The steady state, if anything was done.
    pub work: Option<MemoryWork>,
    /// Cost of a touch in ns.
    pub touch_ns: Option<f64>,
    /// Speed relative to the run without load of the same seed.
    pub relative_speed: Option<f64>,
    /// Pages read from swap; on a simulated machine, processes swapped in.
    pub swap_ins: Option<u64>,
    /// How the run ended.
    pub status: EndStatus,
}

fn job(header: &Header) -> Option<&JobSpec> {
    match &header.spec.measure {
        Measure::Memory(job) => Some(job),
        _ => None,
    }
}

impl MemoryJob {
    /// The table of the runs of one invocation; runs without a header are omitted.
    pub fn from_runs<'a>(runs: impl IntoIterator<Item = &'a Run>, skipped: Skipped) -> Self {
        let runs: Vec<&Run> = runs.into_iter().collect();
        let row = |run: &&Run| {
            let header = run.header.as_ref().filter(|header| job(header).is_some())?;
            let work = MemoryWork::from_run(run);
            let swap_ins = |work: &MemoryWork| {
                work.increase("vmstat", "pswpin").or_else(|| work.used(&["swap_ins"]))
            };
            Some(MemoryJobRow {
                load: header.spec.load.name.clone(),
                seed: header.spec.seed,
                touch_ns: work.as_ref().and_then(MemoryWork::cost_ns),
                relative_speed: None,
                swap_ins: work.as_ref().and_then(swap_ins),
                status: run.status(),
                work,
            })
        };
        let mut rows: Vec<MemoryJobRow> = runs.iter().filter_map(row).collect();
        let base = rows.iter().filter(|row| row.load == BASELINE);
        let base_ns: BTreeMap<u64, f64> =
            base.filter_map(|row| Some((row.seed, row.touch_ns?))).collect();
        for row in &mut rows {
            let both_ns = base_ns.get(&row.seed).zip(row.touch_ns);
            row.relative_speed = both_ns.map(|(base_ns, own_ns)| base_ns / own_ns);
        }
        let (header, setup) = Setup::of_first(&runs, |header| job(header).is_some()).unzip();
        Self {
            place: setup.map_or_else(String::new, |setup| setup.place()),
            job: header.and_then(job).cloned(),
            simulated: header.is_some_and(is_simulated),
            seeds: seeds(headers(&runs)),
            rows,
            remarks: Remarks::new(&runs, skipped),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::CounterRecord;

    use super::*;

    fn pass(number: u32, elapsed_ns: u64, touches: u64) -> Line {
        Line::Pass(Box::new(PassRecord {
            at_ns: 0,
            worker: 0,
            pass: number,
            started_ns: 10,
            completed_ns: 10 + elapsed_ns,
            usage: [("touches", touches), ("user_ns", 3), ("processes", 2), ("loops", 7)]
                .map(|(name, value)| (name.into(), value))
                .into(),
        }))
    }

    fn counted(value: u64) -> Line {
        let counters = [("vmstat".into(), [("pgfault".into(), value)].into())].into();
        Line::Counters(Box::new(CounterRecord { at_ns: 0, counters }))
    }

    fn run(costs: &[u64]) -> Run {
        let mut lines = vec![counted(100)];
        for (number, cost_ns) in costs.iter().enumerate() {
            lines.push(pass(number as u32, cost_ns * 1000, 1000));
            lines.push(counted(200 + number as u64));
        }
        Run { lines, ..Run::default() }
    }

    #[test]
    fn the_cold_start_does_not_count() {
        let work = MemoryWork::from_run(&run(&[900, 10, 10, 10, 10, 10, 10])).unwrap();
        assert_eq!((work.passes, work.steady_from), (7, Some(1)));
        assert_eq!((work.touches, work.cost_ns()), (6000, Some(10.0)));
        assert_eq!(work.used(&["user_ns"]), Some(18));
        assert_eq!(work.used(&["user_ns", "system_ns"]), None);
        assert_eq!(work.increase("vmstat", "pgfault"), Some(6));
        assert_eq!((work.processes, work.loops), (Some(2), Some(7)));
    }

    #[test]
    fn what_is_touched_for_the_first_time_is_cold_however_evenly_it_comes() {
        let mut even = run(&[10, 10, 10, 10, 10, 2, 2, 2, 2, 2]);
        for (index, line) in even.lines.iter_mut().enumerate() {
            if let Line::Pass(pass) = line {
                pass.usage.insert(FIRST_TOUCHES.into(), if index < 11 { 500 } else { 0 });
            }
        }
        let work = MemoryWork::from_run(&even).unwrap();
        assert_eq!((work.steady_from, work.cost_ns()), (Some(5), Some(2.0)));
        assert_eq!(work.used(&[FIRST_TOUCHES]), None);
    }

    #[test]
    fn without_a_steady_part_all_of_it_counts() {
        let work = MemoryWork::from_run(&run(&[900, 10])).unwrap();
        assert_eq!((work.steady_from, work.touches), (None, 2000));
        assert_eq!(work.increase("vmstat", "pgfault"), Some(101));
        assert_eq!(MemoryWork::from_run(&run(&[])), None);
    }

    #[test]
    fn a_simulated_run_counts_as_a_whole() {
        let mut one = run(&[10]);
        assert_eq!(MemoryWork::from_run(&one).unwrap().steady_from, None);
        let header = serde_json::json!({
            "kind": "header", "schema": 2, "run_id": "r", "thrashlab": "0", "started_unix_ns": 0,
            "spec": {
                "subject": {
                    "kind": "mmu", "machine": "m", "memory_bytes": 1, "description": "",
                    "settings": {},
                },
                "load": {"name": "noload", "version": 1, "intensity": 1.0},
                "job": {"name": "vmtest", "version": 1},
                "timing": {
                    "profile": "default", "interval_ns": 1, "points": 1, "warmup_ns": 1,
                    "timeout_ns": 1,
                },
                "seed": 1, "block": 0, "order": 0,
            },
            "environment": {}, "missed": [],
        });
        let Line::Header(header) = Line::parse(&header.to_string()).unwrap() else {
            panic!("a header")
        };
        assert!(header.is_deterministic());
        one.header = Some(*header);
        let work = MemoryWork::from_run(&one).unwrap();
        assert_eq!((work.steady_from, work.touches), (Some(0), 1000));
        assert_eq!(work.increase("vmstat", "pgfault"), Some(100));
    }

    #[test]
    fn nothing_touched_has_no_cost() {
        let mut stalled = run(&[1]);
        stalled.lines[1] = pass(0, 1000, 0);
        assert_eq!(MemoryWork::from_run(&stalled).unwrap().cost_ns(), None);
        assert_eq!(MemoryWork::pass_costs_ns(&stalled), [None]);
        assert_eq!(MemoryWork::pass_costs_ns(&run(&[9, 2])), [Some(9.0), Some(2.0)]);
    }
}
