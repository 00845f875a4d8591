//! Runs of a job as a document: each kind of job has its own.

use std::collections::BTreeMap;

use analysis::{CommandTimes, MemoryJob, Session, is_of_command, is_of_memory_job};
use model::Run;
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

fn result(runs: &[&Run], skipped: BTreeMap<String, String>) -> Result {
    let runs_of = || runs.iter().copied();
    if is_of_command(runs_of()) {
        Result::Command(CommandTimes::from_runs(runs_of(), skipped))
    } else if is_of_memory_job(runs_of()) {
        Result::Memory(MemoryJob::from_runs(runs_of(), skipped))
    } else {
        Result::Session(Session::from_runs(runs_of(), skipped))
    }
}

/// The result of runs of one job with its data; loads that were skipped have a reason.
pub fn job_document(
    runs: &[&Run],
    skipped: BTreeMap<String, String>,
    verbose: bool,
) -> Document<'static> {
    match result(runs, skipped) {
        Result::Command(times) => command_document(&times, verbose).with_data(times),
        Result::Memory(job) => memory_job_document(&job, verbose).with_data(job),
        Result::Session(session) => session_document(&session, verbose).with_data(session),
    }
}

/// The result of runs of one job as JSON.
pub(crate) fn job_json(runs: &[&Run]) -> Value {
    match result(runs, BTreeMap::new()) {
        Result::Command(times) => json!(times),
        Result::Memory(job) => json!(job),
        Result::Session(session) => json!(session),
    }
}
