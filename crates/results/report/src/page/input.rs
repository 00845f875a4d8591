//! The inputs of a report: folders of runs, runs, published results.

use std::collections::{BTreeMap, BTreeSet};

use analysis::ab::AbLook;
use analysis::attribution::Attribution;
use analysis::comparison::Comparison;
use analysis::responsiveness::Matrix;
use analysis::{by_load, grouped};
use doctor::{Diagnosis, Interval, UnitCosts, diagnose, from_run};
use model::{BASELINE, CounterSet, Header, Line, MachineSpec, Measure, Run, Spec};

use super::samples::LoadSamples;
use super::timeline::Timeline;
use curves::SweepView;

/// Sources of counters that explain samples, kept whole.
const KEPT_SOURCES: [&str; 5] = ["rusage", "schedstat", "taskstats", "task_stat", "cpu_cgroup"];
/// Prefixes of counters kept from other sources.
const KEPT_NAMES: &str = "pswp workingset_refault allocstall compact_stall pgmajfault \
                          total_workingset total_pgmajfault throttled nr_throttled";

/// Everything that a report is about.
#[derive(Debug, Default)]
pub struct Material<'a> {
    /// The results in command-line order.
    pub inputs: Vec<Input<'a>>,
    /// The comparison of the results, or of the levels of an experiment's only factor.
    pub comparison: Option<Comparison>,
    /// The looks at that comparison as it grew, up to the one that ended it; else none.
    pub looks: Vec<AbLook>,
    /// What is missing from the report, and why.
    pub notes: Vec<String>,
    /// Machines that a command can name, with their default settings.
    pub machines: Vec<MachineSpec>,
}

/// One result in a report.
#[derive(Debug, Default)]
pub struct Input<'a> {
    /// Its name.
    pub name: String,
    /// Its name on a command line.
    pub typed: String,
    /// The runs, without counters that explain no delay.
    pub runs: Vec<Run>,
    /// The factor levels of each run in words; empty without an experiment.
    pub cells: Vec<String>,
    /// The counters of each run over time.
    pub timelines: Vec<Timeline>,
    /// The diagnosis of each run that has counters at two times.
    pub diagnoses: Vec<Diagnosed>,
    /// The attribution of an experiment.
    pub attribution: Option<Attribution>,
    /// Curves and knees of a sweep.
    pub sweep: Option<SweepView<'a>>,
    /// The command and text of the plan of an experiment or a sweep.
    pub plan: Option<(String, String)>,
}

/// The diagnosis of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosed {
    /// The run.
    pub run_id: String,
    /// Its load.
    pub load: String,
    /// The diagnosis.
    pub diagnosis: Diagnosis,
}

/// What one probe measured at one combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measurement {
    pub(crate) input: usize,
    /// Probe, and levels if there are any.
    pub(crate) label: String,
    pub(crate) matrix: Matrix,
    pub(crate) samples: Vec<LoadSamples>,
}

/// The runs of one job at one combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JobRuns<'a> {
    pub(crate) input: usize,
    /// What is timed: no probe.
    pub(crate) job: &'a Measure,
    /// The levels in words; empty without any.
    pub(crate) cell: &'a str,
    pub(crate) runs: Vec<&'a Run>,
}

impl Input<'_> {
    /// An input without runs.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self { typed: name.clone(), name, ..Self::default() }
    }

    /// Adds a run with these factor levels in words.
    pub fn add(&mut self, cell: String, mut run: Run) {
        self.timelines.push(Timeline::from_run(&run));
        if let (Ok((before, after)), Some(header)) = (from_run(&run), &run.header) {
            // This machine's costs are not those of the measured one.
            let diagnosis = diagnose(&Interval::new(&before, &after), &UnitCosts::default());
            let (run_id, load) = (header.run_id.clone(), header.spec.load.name.clone());
            self.diagnoses.push(Diagnosed { run_id, load, diagnosis });
        }
        slim(&mut run);
        self.runs.push(run);
        self.cells.push(cell);
    }

    pub(crate) fn headers(&self) -> impl Iterator<Item = &Header> {
        self.runs.iter().filter_map(|run| run.header.as_ref())
    }

    pub(crate) fn environment(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut facts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (fact, value) in self.headers().flat_map(|header| &header.environment) {
            facts.entry(fact).or_default().insert(value);
        }
        facts
    }

    /// The runs of probes of input `index`; none of a sweep, whose curve shows them.
    pub(crate) fn measurements(&self, index: usize) -> Vec<Measurement> {
        let runs = self.runs.iter().zip(&self.cells).filter(|_| self.sweep.is_none());
        let probes = runs.filter_map(|(run, cell)| match &run.header.as_ref()?.spec.measure {
            Measure::Probe(probe) => Some((format!("{} {cell}", probe.name), run)),
            _ => None,
        });
        let groups = grouped(probes.map(|(label, run)| (label.trim_end().to_owned(), run)));
        let measurement = |(label, runs): (String, Vec<&Run>)| {
            let matrix = Matrix::from_runs(runs.iter().copied(), BTreeMap::new());
            let samples =
                matrix.rows.iter().map(|row| LoadSamples::from_runs(&runs, &row.load)).collect();
            Measurement { input: index, label, samples, matrix }
        };
        groups.into_iter().map(measurement).collect()
    }

    /// The runs of jobs of input `index`; none of a sweep, whose curve shows them.
    pub(crate) fn jobs(&self, index: usize) -> Vec<JobRuns<'_>> {
        let mut groups: BTreeMap<(&str, &str), JobRuns<'_>> = BTreeMap::new();
        let runs = self.runs.iter().zip(&self.cells).filter(|_| self.sweep.is_none());
        for (run, cell) in runs {
            if let Some(Header { spec: Spec { measure: job, .. }, .. }) = &run.header
                && !job.is_probe()
            {
                let none = || JobRuns { input: index, job, cell, runs: Vec::new() };
                groups.entry((job.name(), cell)).or_insert_with(none).runs.push(run);
            }
        }
        groups.into_values().collect()
    }
}

impl<'a> JobRuns<'a> {
    /// Whether they repeat the user's commands.
    pub(crate) fn is_of_command(&self) -> bool {
        matches!(self.job, Measure::Command(_))
    }

    /// Whether it is a memory job, not a session or commands.
    pub(crate) fn is_of_memory(&self) -> bool {
        matches!(self.job, Measure::Memory(_))
    }

    /// The runs by load, the baseline first.
    pub(crate) fn by_load(&self) -> Vec<(&'a str, Vec<&'a Run>)> {
        let mut loads = by_load(&self.runs);
        loads.sort_by_key(|(load, _)| *load != BASELINE);
        loads
    }
}

/// Drops unneeded counters, so that reports on thousands of runs fit into memory.
fn slim(run: &mut Run) {
    for line in &mut run.lines {
        let sets = match line {
            Line::Sample(sample) => [&mut sample.before, &mut sample.after],
            Line::Histogram(record) => [&mut record.before, &mut record.after],
            _ => continue,
        };
        sets.into_iter().for_each(slim_set);
    }
}

fn slim_set(set: &mut CounterSet) {
    let is_kept = |name: &str| KEPT_NAMES.split(' ').any(|kept| name.starts_with(kept));
    for (_, counters) in set.iter_mut().filter(|(it, _)| !KEPT_SOURCES.contains(&it.as_str())) {
        let all = std::mem::take(counters).into_iter();
        *counters = all.filter(|(name, _)| is_kept(name)).collect();
    }
    set.retain(|_, counters| !counters.is_empty());
}
