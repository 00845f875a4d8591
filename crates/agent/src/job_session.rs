//! A run that does a job with a script: the users of a session.

use std::io::Write;

use model::{EndStatus, JobSpec, Line, Measure};
use workloads::{CORPUS_BYTES, Resolved, Workload, resolve, search_path};

use crate::assignment::Assignment;
use crate::error::AgentError;
use crate::job_measure::Working;
use crate::job_users::Users;
use crate::load_plan::LoadPlan;
use crate::observer::{Counters, Observer};
use crate::output::Output;
use crate::under_load::{become_observer, header, under_load};
use crate::waiter::Waiter;

/// Makes the run.
///
/// # Errors
/// As [`crate::run`].
pub(crate) fn run(
    assignment: &Assignment,
    load: &'static Workload,
    (job, asked): (&Workload, &JobSpec),
    out: impl Write,
) -> Result<EndStatus, AgentError> {
    let script = asked
        .script
        .as_ref()
        .ok_or_else(|| AgentError::Job(format!("{} needs a script", asked.name)))?;
    let path = search_path(std::env::var_os("PATH"));
    let resolved = resolve(script, &path).map_err(AgentError::Job)?;
    let kept_bytes = CORPUS_BYTES * u64::from(script.users);
    let load = LoadPlan::new(assignment, load, kept_bytes)?;

    let mut output = Output::new(out);
    // Before the first child: from here on a request to stop is never lost.
    let waiter = Waiter::new()?;
    let mut users = Users::start(assignment, &resolved, &path)
        .map_err(|error| AgentError::Job(format!("start the users: {error}")))?;
    let mut missed = assignment.missed.clone();
    become_observer(assignment, &mut missed);
    let counters = Counters::open(assignment, None, &mut missed);
    let measure = Measure::Job(Box::new(JobSpec {
        version: job.version,
        script: Some(resolved.script.clone()),
        ..asked.clone()
    }));
    output.line(&Line::Header(Box::new(header(assignment, &load, measure, missed))))?;
    for note in load.plan.notes.iter().chain(notes(assignment, &resolved, kept_bytes).iter()) {
        output.warning(note)?;
    }
    let mut observer = Observer::new(assignment, output, waiter, counters);
    let status = match users.await_ready(&observer.waiter) {
        Ok(()) => under_load(&mut observer, &load, |observer, load, measuring_ns| {
            let origin_ns = observer.output.moment_ns(measuring_ns);
            let working = Working::new(observer, load, &mut users, &resolved.script, origin_ns);
            let status = working.until_all_are_done()?;
            observer.write_counters(load)?;
            drop(users);
            Ok(status)
        })?,
        Err(why) => observer.not_ready("the job", why)?.map_err(AgentError::Job)?,
    };
    observer.output.end(status)?;
    Ok(status)
}

/// Where the subject forced another choice than the usual one, or may spoil the job.
fn notes(assignment: &Assignment, resolved: &Resolved, kept_bytes: u64) -> Vec<String> {
    let mut notes: Vec<String> = resolved.note.iter().cloned().collect();
    if assignment.free_disk_bytes < kept_bytes {
        notes.push(format!(
            "the users' files need up to {kept_bytes} bytes and there are {} free: commands may \
             fail; take fewer users or another --work-dir",
            assignment.free_disk_bytes
        ));
    }
    notes
}
