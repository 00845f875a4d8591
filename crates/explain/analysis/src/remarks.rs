//! Remarks on the runs behind a result.

use std::collections::{BTreeMap, BTreeSet};

use model::{EndStatus, Header, Line, Observation, PassRecord, Run};
use serde::Serialize;

use crate::{distinct, grouped};

/// Loads that could not run, with the reasons.
pub type Skipped = BTreeMap<String, String>;

/// Remarks on the runs behind a result.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Remarks {
    /// Distinct warnings with their loads.
    pub warnings: Vec<String>,
    /// Unavailable capabilities, as `CAPABILITY: REASON`.
    pub missed: Vec<String>,
    /// Loads that could not run, with the reasons.
    pub skipped: Skipped,
}

impl Remarks {
    /// Collects the remarks on runs.
    pub fn new(runs: &[&Run], skipped: Skipped) -> Self {
        // The first reason counts: reasons may name their runs.
        let mut seen = BTreeSet::new();
        let missed = headers(runs).flat_map(|header| &header.missed);
        let missed = missed.filter(|miss| seen.insert(&miss.capability));
        let missed = missed.map(|miss| format!("{}: {}", miss.capability, miss.reason)).collect();
        Self { warnings: warnings(runs), missed, skipped }
    }
}

/// Headers of runs; a run killed early has none.
pub(crate) fn headers<'a>(runs: &[&'a Run]) -> impl Iterator<Item = &'a Header> {
    runs.iter().filter_map(|run| run.header.as_ref())
}

/// The runs with headers by load, in order of the first run.
pub fn by_load<'a>(runs: &[&'a Run]) -> Vec<(&'a str, Vec<&'a Run>)> {
    let load = |run: &'a Run| Some((run.header.as_ref()?.spec.load.name.as_str(), run));
    grouped(runs.iter().copied().filter_map(load))
}

pub(crate) fn passes(run: &Run) -> impl Iterator<Item = &PassRecord> {
    run.lines.iter().filter_map(|line| match line {
        Line::Pass(pass) => Some(&**pass),
        _ => None,
    })
}

/// The first ending that was not complete.
pub(crate) fn status(runs: &[&Run]) -> EndStatus {
    let mut statuses = runs.iter().map(|run| run.status());
    statuses.find(|status| *status != EndStatus::Complete).unwrap_or(EndStatus::Complete)
}

pub(crate) fn delays(line: &Line) -> Vec<Observation> {
    match line {
        Line::Sample(sample) => vec![sample.delay()],
        Line::Histogram(record) => record.delays_ns().unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Each warning and death once, with its loads.
fn warnings(runs: &[&Run]) -> Vec<String> {
    let begun = runs.iter().filter_map(|run| Some((*run, run.header.as_ref()?)));
    let (mut notes, mut doubts, mut all_loads) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (run, header) in begun {
        let load = header.spec.load.name.as_str();
        all_loads.insert(load);
        notes.extend(run.lines.iter().filter_map(|line| Some((line.note()?, load))));
        if run.checksum_ok == Some(false) {
            doubts.push(format!("{}: the run file was changed after the run", header.run_id));
        }
        let is_lost = |line: &&Line| matches!(line, Line::Histogram(it) if it.is_unreadable());
        match run.lines.iter().filter(is_lost).count() {
            0 => {}
            lost => doubts.push(format!("{}: {lost} histograms cannot be read", header.run_id)),
        }
    }
    let notes = grouped(distinct(notes)).into_iter().map(|(text, loads)| match loads.len() {
        several if several > 1 && several == all_loads.len() => format!("all loads: {text}"),
        _ => format!("{}: {text}", loads.join(", ")),
    });
    notes.chain(doubts).collect()
}
