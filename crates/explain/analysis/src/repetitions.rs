//! The repetitions of the user's commands in a run: cold ones, those that count, those that failed.

use model::{CommandSpec, EndStatus, Header, Measure, Observation, Run, WorkEnd, WorkRecord};
use stats::steady_from;

use crate::distinct;
use crate::responsiveness::Units;

/// Most of the repetitions that can be a cold start.
const MOST_COLD: f64 = 0.5;

/// Usage: largest resident memory of any one process, in bytes.
pub(crate) const PEAK: &str = "peak_bytes";

/// The user's commands of a run, if it repeats them.
pub(crate) fn command(header: &Header) -> Option<&CommandSpec> {
    match &header.spec.measure {
        Measure::Command(command) => Some(command),
        _ => None,
    }
}

/// One repetition of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Repetition {
    /// Elapsed time, in ns.
    pub elapsed_ns: Observation,
    /// CPU time in user mode, in ns, if known.
    pub user_ns: Option<u64>,
    /// CPU time in the kernel, in ns, if known.
    pub system_ns: Option<u64>,
    /// Largest resident memory of any one of its processes, in bytes, if known.
    pub peak_bytes: Option<u64>,
    /// How it ended.
    pub end: WorkEnd,
    /// Whether it failed; one whose output lacks a metric did, although it ended well.
    pub is_failed: bool,
}

impl Repetition {
    /// `None` if it has no time, because it never started or was ended by us.
    fn of_work(work: &WorkRecord) -> Option<Self> {
        let cpu_ns = work.cpu_ns();
        Some(Self {
            elapsed_ns: work.elapsed_ns()?,
            user_ns: cpu_ns.map(|[user_ns, _]| user_ns),
            system_ns: cpu_ns.map(|[_, system_ns]| system_ns),
            peak_bytes: work.usage.get(PEAK).copied(),
            end: work.end(),
            is_failed: work.is_failed(),
        })
    }
}

/// The repetitions of one command in one run.
pub(crate) struct Repetitions<'a> {
    /// Cold ones at the start.
    pub(crate) cold: Vec<&'a WorkRecord>,
    /// Repetitions that count: they are neither cold nor failed.
    pub(crate) counted: Vec<&'a WorkRecord>,
    /// Repetitions that failed; one that ran into its limit of time did not.
    pub(crate) failed: Vec<&'a WorkRecord>,
}

impl<'a> Repetitions<'a> {
    /// The repetitions of each command of a run, by name in order of first occurrence.
    pub(crate) fn from_run(run: &'a Run) -> Vec<(&'a str, Self)> {
        let warmup = run.header.as_ref().and_then(command).map_or(0, CommandSpec::warmup_runs);
        let names = distinct(run.works().map(|work| work.item.as_str()));
        // A repetition that the user or the end of a load stopped shows nothing about the command.
        let is_stopped = matches!(run.status(), EndStatus::Interrupted | EndStatus::LoadDied);
        let of_name = |name: &'a str| {
            let all = run.works().filter(|work| work.item == name);
            let all = all.filter(|work| work.completed_ns.is_some() || !is_stopped);
            (name, Self::new(all.filter(|work| u64::from(work.pass) >= warmup).collect()))
        };
        names.into_iter().map(of_name).collect()
    }

    fn new(all: Vec<&'a WorkRecord>) -> Self {
        let (failed, worked): (Vec<_>, Vec<_>) = all.into_iter().partition(|work| work.is_failed());
        let times: Vec<f64> = worked.iter().filter_map(|work| repetition_ns(work)).collect();
        let most = MOST_COLD * times.len() as f64;
        let cold = steady_from(&times).filter(|from| *from as f64 <= most).unwrap_or(0);
        let (cold, counted) = worked.split_at(cold);
        Self { cold: cold.to_vec(), counted: counted.to_vec(), failed }
    }

    pub(crate) fn in_time_order(&self) -> Vec<Repetition> {
        let mut works: Vec<&WorkRecord> = [&self.counted[..], &self.failed[..]].concat();
        works.sort_by_key(|work| work.started_ns);
        works.into_iter().filter_map(Repetition::of_work).collect()
    }
}

/// A value of each counted repetition, to be compared by runs, blocks and seeds.
pub(crate) fn units(
    runs: &[(&Run, &Repetitions<'_>)],
    value: impl Fn(&WorkRecord) -> Option<Observation>,
) -> Units {
    let of_run = |(run, own): &(&Run, &Repetitions<'_>)| {
        let spec = &run.header.as_ref()?.spec;
        let values = own.counted.iter().filter_map(|work| value(work));
        Some((u64::from(spec.block), spec.seed, values.map(|value| vec![value]).collect()))
    };
    Units::new(runs.iter().filter_map(of_run).collect())
}

/// Elapsed time in ns, also where it is a lower bound; at least 1.
pub(crate) fn repetition_ns(work: &WorkRecord) -> Option<f64> {
    work.elapsed_ns().map(|elapsed| elapsed.value.max(1.0))
}

#[cfg(test)]
pub(crate) mod tests {
    use model::Line;
    use serde_json::json;

    use super::*;

    /// The header of a run of commands.
    pub(crate) fn header(load: &str, block: u32, warmup: u64) -> Header {
        let header = json!({
            "kind": "header", "schema": 1, "run_id": load, "thrashlab": "0", "started_unix_ns": 0,
            "spec": {
                "subject": { "kind": "host", "memory_bytes": 1 },
                "load": { "name": load, "version": 1, "intensity": 1.0 },
                "job": { "name": "command", "version": 1, "params": { "warmup": warmup } },
                "timing": {
                    "profile": "default", "interval_ns": 1, "points": 1, "warmup_ns": 1,
                    "timeout_ns": 1,
                },
                "seed": 1, "block": block, "order": 0,
            },
            "environment": {}, "missed": [],
        });
        let Ok(Line::Header(header)) = Line::parse(&header.to_string()) else { panic!("a header") };
        *header
    }
}
