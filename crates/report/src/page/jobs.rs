//! The runs of jobs, sorted by what they have in common.

use std::collections::BTreeMap;

use model::{BASELINE, Header, JobSpec, Measure, Run};

use super::Input;

/// The runs of one job at one combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JobRuns<'a> {
    /// Which of the inputs they belong to.
    pub(crate) input: usize,
    /// The job.
    pub(crate) job: &'a JobSpec,
    /// The levels in words; empty without any.
    pub(crate) cell: &'a str,
    /// The runs in their order.
    pub(crate) runs: Vec<&'a Run>,
}

impl Input<'_> {
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
        let mut loads: Vec<(&str, Vec<&Run>)> = Vec::new();
        for run in &self.runs {
            let Some(header) = &run.header else { continue };
            let name = header.spec.load.name.as_str();
            match loads.iter_mut().find(|(load, _)| *load == name) {
                Some((_, group)) => group.push(run),
                None => loads.push((name, vec![run])),
            }
        }
        loads.sort_by_key(|(load, _)| *load != BASELINE);
        loads
    }
}
