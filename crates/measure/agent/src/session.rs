//! A run of a job with a script: its users issue their commands until all had a first pass.

use std::io::Write;

use keep::AgentProgram;
use model::{EndStatus, Measure, Script, SessionSpec};
use workloads::{CORPUS_BYTES, Resolved, SESSION, Workload, resolve, search_path};

use crate::assignment::{AgentError, Assignment};
use crate::session_user::UserSide;
use crate::users::Side;
use crate::working::{self, Task};

/// Time that a user may lose between the commands of one pass, in ns.
const SLACK_NS: u64 = 30_000_000_000;
/// Time in which the users fill their directories, in ns.
const READY_NS: u64 = 60_000_000_000;

pub(crate) fn run(
    assignment: &Assignment,
    load: &'static Workload,
    script: &Script,
    out: impl Write,
) -> Result<EndStatus, AgentError> {
    let path = search_path(std::env::var_os("PATH"));
    let resolved = resolve(script, &path).map_err(AgentError::Job)?;
    let kept_bytes = CORPUS_BYTES * u64::from(script.users);
    let program = AgentProgram::this();
    let live = |side: Side<'_>| {
        let dir = assignment.work_dir.join(format!("user{:02}", side.user));
        let (resolved, path, program) = (&resolved, path.as_os_str(), &program);
        UserSide { assignment, resolved, path, program, side, dir }.live()
    };
    let task = Task {
        measure: Measure::Session(Box::new(SessionSpec {
            version: SESSION.version,
            script: resolved.script.clone(),
        })),
        notes: notes(assignment, &resolved, kept_bytes),
        missed: Vec::new(),
        kept_bytes,
        users: script.users,
        names: resolved.script.commands.iter().map(|command| command.name.clone()).collect(),
        passes: 1,
        ready_ns: READY_NS,
        allowed_ns: script.longest_pass_ns().saturating_add(SLACK_NS),
        counters_every_ns: None,
        ends_by_failure: false,
        watched: None,
    };
    working::run(assignment, load, &task, live, out)
}

/// Choices that the subject forced, and possible failures.
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
