//! One of the results that a report tells of: a folder of runs, a run, a published result.

use std::collections::{BTreeMap, BTreeSet};

use analysis::attribution::Attribution;
use doctor::{Diagnosis, Interval, UnitCosts, diagnose, from_run};
use model::{CounterSet, Header, Line, Measure, Run};

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
    /// What the change between levels is to be put down to, of an experiment.
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
pub struct Measurement {
    /// Which of the inputs it belongs to.
    pub input: usize,
    /// Probe, and levels if there are any.
    pub label: String,
    /// The result.
    pub matrix: Matrix,
    /// The responses in their order.
    pub samples: Vec<LoadSamples>,
}

impl Input<'_> {
    /// An input without runs.
    #[must_use]
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
    #[must_use]
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
        let mut groups: Vec<(String, Vec<&Run>)> = Vec::new();
        if self.sweep.is_some() {
            return Vec::new();
        }
        for (run, cell) in self.runs.iter().zip(&self.cells) {
            let Some(header) = &run.header else { continue };
            let Measure::Probe(probe) = &header.spec.measure else { continue };
            let label = match cell.as_str() {
                "" => probe.name.clone(),
                cell => format!("{} {cell}", probe.name),
            };
            match groups.iter_mut().find(|(other, _)| *other == label) {
                Some((_, group)) => group.push(run),
                None => groups.push((label, vec![run])),
            }
        }
        let measurement = |(label, runs): (String, Vec<&Run>)| {
            let matrix = Matrix::from_runs(runs.iter().copied(), BTreeMap::new());
            let loads: Vec<&str> = matrix.rows.iter().map(|row| row.load.as_str()).collect();
            let samples = LoadSamples::of(&runs, &loads);
            Measurement { input: index, label, samples, matrix }
        };
        groups.into_iter().map(measurement).collect()
    }
}

impl Measurement {
    /// Median delay without load, in ns.
    #[must_use]
    pub fn reference_ns(&self) -> Option<f64> {
        self.matrix.reference_ns()
    }
}

/// Forgets counters that were used already, and would fill the memory of a report on thousands of
/// runs.
fn slim(run: &mut Run) {
    for line in &mut run.lines {
        match line {
            Line::Sample(sample) => {
                slim_set(&mut sample.before);
                slim_set(&mut sample.after);
            }
            Line::Histogram(record) => {
                slim_set(&mut record.before);
                slim_set(&mut record.after);
            }
            _ => {}
        }
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
