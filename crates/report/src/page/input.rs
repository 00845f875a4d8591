//! One of the results that a report tells of: a folder of runs, a run, a published result.

use std::collections::{BTreeMap, BTreeSet};

use analysis::attribution::Attribution;
use analysis::comparison::Comparison;
use analysis::grouped;
use doctor::{Diagnosis, Interval, UnitCosts, diagnose, from_run};
use model::{BASELINE, CounterSet, Header, JobSpec, Line, MachineSpec, Measure, Run};

use super::samples::LoadSamples;
use super::timeline::Timeline;
use crate::SweepView;
use analysis::responsiveness::Matrix;

/// Sources of counters that are needed after a run was read: of samples, what explains them.
const KEPT_SOURCES: [&str; 5] = ["rusage", "schedstat", "taskstats", "task_stat", "cpu_cgroup"];
/// Names that are kept of other sources.
const KEPT_NAMES: [&str; 9] = [
    "pswp",
    "workingset_refault",
    "allocstall",
    "compact_stall",
    "pgmajfault",
    "total_workingset",
    "total_pgmajfault",
    "throttled",
    "nr_throttled",
];

/// Everything that a report is about.
#[derive(Debug, Default)]
pub struct Material<'a> {
    /// The results, in the order in which they were named.
    pub inputs: Vec<Input<'a>>,
    /// What the results differ in, or the levels of an experiment's only factor.
    pub comparison: Option<Comparison>,
    /// What could not be told, and why.
    pub notes: Vec<String>,
    /// Machines that a command can name, as they are without further settings.
    pub machines: Vec<MachineSpec>,
}

/// One of the results that a report tells of.
#[derive(Debug, Default)]
pub struct Input<'a> {
    /// Its name.
    pub name: String,
    /// What names it on a command line.
    pub typed: String,
    /// The runs, with the counters of their samples only as far as they explain delays.
    pub runs: Vec<Run>,
    /// Of each run, in words, the levels of its experiment's factors; empty without.
    pub cells: Vec<String>,
    /// What the counters of each run say over time.
    pub timelines: Vec<Timeline>,
    /// What the doctor says of each run that has counters at two moments.
    pub diagnoses: Vec<Diagnosed>,
    /// What caused the change between levels, of an experiment.
    pub attribution: Option<Attribution>,
    /// Curve and knee, of a sweep.
    pub sweep: Option<SweepView<'a>>,
    /// The plan, of an experiment or a sweep: which command carries it out, and its text.
    pub plan: Option<(String, String)>,
}

/// What the doctor says of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosed {
    /// The run.
    pub run_id: String,
    /// Its load.
    pub load: String,
    /// Findings, what was ruled out, and what could not be told.
    pub diagnosis: Diagnosis,
}

/// What one probe measured at one combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measurement {
    /// Which of the inputs it belongs to.
    pub(crate) input: usize,
    /// Probe, and levels if there are any.
    pub(crate) label: String,
    pub(crate) matrix: Matrix,
    pub(crate) samples: Vec<LoadSamples>,
}

/// The runs of one job at one combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JobRuns<'a> {
    /// Which of the inputs they belong to.
    pub(crate) input: usize,
    pub(crate) job: &'a JobSpec,
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

    /// Adds a run that was made at these levels (in words; empty without an experiment).
    pub fn add(&mut self, cell: String, mut run: Run) {
        self.timelines.push(Timeline::of(&run));
        if let (Ok((before, after)), Some(header)) = (from_run(&run), &run.header) {
            // Costs of this machine say nothing of the one that was measured.
            let costs = UnitCosts::default();
            self.diagnoses.push(Diagnosed {
                run_id: header.run_id.clone(),
                load: header.spec.load.name.clone(),
                diagnosis: diagnose(&Interval::new(&before, &after), &costs),
            });
        }
        slim(&mut run);
        self.runs.push(run);
        self.cells.push(cell);
    }

    /// The headers of the runs.
    pub fn headers(&self) -> impl Iterator<Item = &Header> {
        self.runs.iter().filter_map(|run| run.header.as_ref())
    }

    /// The facts of the systems on which the runs were made, each value once.
    pub fn environment(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut facts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (fact, value) in self.headers().flat_map(|header| &header.environment) {
            facts.entry(fact).or_default().insert(value);
        }
        facts
    }

    /// The runs of probes, by probe and levels; `index` is the input's own number. None of a sweep,
    /// whose curve tells them.
    pub(crate) fn measurements(&self, index: usize) -> Vec<Measurement> {
        let runs = self.runs.iter().zip(&self.cells).filter(|_| self.sweep.is_none());
        let probes = runs.filter_map(|(run, cell)| match &run.header.as_ref()?.spec.measure {
            Measure::Probe(probe) => Some((format!("{} {cell}", probe.name), run)),
            Measure::Job(_) => None,
        });
        let groups = grouped(probes.map(|(label, run)| (label.trim_end().to_owned(), run)));
        let measurement = |(label, runs): (String, Vec<&Run>)| {
            let matrix = Matrix::from_runs(runs.iter().copied(), BTreeMap::new());
            let loads: Vec<&str> = matrix.rows.iter().map(|row| row.load.as_str()).collect();
            let samples = LoadSamples::of(&runs, &loads);
            Measurement { input: index, label, samples, matrix }
        };
        groups.into_iter().map(measurement).collect()
    }

    /// The runs of jobs; `index` is the input's own number. None of a sweep, whose curve tells them.
    pub(crate) fn jobs(&self, index: usize) -> Vec<JobRuns<'_>> {
        let mut groups: BTreeMap<(&str, &str), JobRuns<'_>> = BTreeMap::new();
        let runs = self.runs.iter().zip(&self.cells).filter(|_| self.sweep.is_none());
        for (run, cell) in runs {
            if let Some(Header { spec, .. }) = &run.header
                && let Measure::Job(job) = &spec.measure
            {
                let none = || JobRuns { input: index, job, cell, runs: Vec::new() };
                groups.entry((&job.name, cell)).or_insert_with(none).runs.push(run);
            }
        }
        groups.into_values().collect()
    }
}

impl<'a> JobRuns<'a> {
    /// Whether it is work on memory; else it is a session.
    pub(crate) fn is_of_memory(&self) -> bool {
        self.job.script.is_none()
    }

    /// The runs by load, that without load first.
    pub(crate) fn by_load(&self) -> Vec<(&'a str, Vec<&'a Run>)> {
        let load = |run: &&'a Run| Some((run.header.as_ref()?.spec.load.name.as_str(), *run));
        let mut loads = grouped(self.runs.iter().filter_map(load));
        loads.sort_by_key(|(load, _)| *load != BASELINE);
        loads
    }
}

impl Measurement {
    pub(crate) fn reference_ns(&self) -> Option<f64> {
        self.matrix.reference_ns()
    }
}

/// Forgets counters that were used already, and would fill the memory of a report on thousands of
/// runs.
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
    for (source, counters) in set.iter_mut() {
        if !KEPT_SOURCES.contains(&source.as_str()) {
            let is_kept = |name: &str| KEPT_NAMES.iter().any(|kept| name.starts_with(kept));
            let all = std::mem::take(counters).into_iter();
            *counters = all.filter(|(name, _)| is_kept(name)).collect();
        }
    }
    set.retain(|_, counters| !counters.is_empty());
}
