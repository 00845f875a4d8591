//! Runs of a job as a document: each kind of job has its own.

use std::collections::BTreeMap;

use analysis::{CommandTimes, MemoryJob, Session};
use model::{Measure, Run};
use render::Document;
use serde_json::{Value, json};

use crate::command::command_document;
use crate::memory_job::memory_job_document;
use crate::session::session_document;

/// What a job's runs show.
enum Result {
    Command(CommandTimes),
    Memory(MemoryJob),
    Session(Session),
}

/// `None` for runs of probes.
fn result(runs: &[&Run], skipped: BTreeMap<String, String>) -> Option<Result> {
    let headers = runs.iter().filter_map(|run| run.header.as_ref());
    let work = headers.map(|header| &header.spec.measure).find(|measure| !measure.is_probe())?;
    let runs = runs.iter().copied();
    Some(match work {
        Measure::Probe(_) => return None,
        Measure::Command(_) => Result::Command(CommandTimes::from_runs(runs, skipped)),
        Measure::Memory(_) => Result::Memory(MemoryJob::from_runs(runs, skipped)),
        Measure::Session(_) => Result::Session(Session::from_runs(runs, skipped)),
    })
}

/// The result of runs of one job with its data; loads that were skipped have a reason. `None` for runs
/// of probes.
pub fn job_document(
    runs: &[&Run],
    skipped: BTreeMap<String, String>,
    verbose: bool,
) -> Option<Document<'static>> {
    Some(match result(runs, skipped)? {
        Result::Command(times) => command_document(&times, verbose).with_data(times),
        Result::Memory(job) => memory_job_document(&job, verbose).with_data(job),
        Result::Session(session) => session_document(&session, verbose).with_data(session),
    })
}

/// The result of runs of one job as JSON; `None` for runs of probes.
pub(crate) fn job_json(runs: &[&Run]) -> Option<Value> {
    Some(match result(runs, BTreeMap::new())? {
        Result::Command(times) => json!(times),
        Result::Memory(job) => json!(job),
        Result::Session(session) => json!(session),
    })
}
