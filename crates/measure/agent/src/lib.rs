//! The agent: runs one spec in place and writes the lines of its run file.
//!
//! The *observer* is the agent itself, outside the sandbox and locked into memory: it reads
//! counters, keeps time limits and writes lines. Inside the sandbox run the *prober*, the *users*
//! of a session or the one that repeats the user's commands, or the *parent* of a memory job and its
//! processes, and the load's *workers*.
//!
//! **Invariant:** the agent writes only to its output and its work directory; everything that it
//! starts dies with it, even by SIGKILL.

mod assignment;
mod captured;
mod children;
mod command;
mod command_views;
mod delays;
mod due;
mod issued;
mod load;
mod memory_counters;
mod memory_group;
mod memory_job;
mod memory_measure;
mod observer;
mod output;
mod page_policy;
mod private_view;
mod prober;
mod probing;
mod record;
mod running_service;
mod session;
mod session_user;
mod touch_process;
mod touched_memory;
mod users;
mod vmtest_process;
mod waiter;
mod weight;
mod working;

use std::io::{self, Read, Write};

use model::{EndStatus, Measure, json};
use workloads::{find_load, find_probe};

pub use assignment::{AgentError, Assignment, Freeze};
pub use due::Due;
pub use waiter::{Waiter, Woken};

/// First argument of the agent that makes it the observer of one run.
pub const ROLE: &str = "observe";

/// Reads an assignment, runs it and writes its lines. The error is the reason for the controller.
pub fn serve(mut input: impl Read, out: impl Write) -> Result<(), String> {
    let failed = |error: io::Error| format!("read the assignment from standard input: {error}");
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(failed)?;
    let assignment = json::from_bytes(&bytes).map_err(io::Error::from).map_err(failed)?;
    run(&assignment, out).map(drop).map_err(|error| error.to_string())
}

/// Runs an assignment and writes its lines to `out`. The calling, single-threaded process becomes
/// the observer. Fails when nothing could be measured; later errors are lines of the run.
fn run(assignment: &Assignment, out: impl Write) -> Result<EndStatus, AgentError> {
    let unknown = |kind, name: &str| AgentError::Unknown(kind, name.to_owned());
    let load = &assignment.spec.load.name;
    let load = find_load(load).ok_or_else(|| unknown("load", load))?;
    match &assignment.spec.measure {
        Measure::Probe(asked) => {
            let probe = find_probe(&asked.name).ok_or_else(|| unknown("probe", &asked.name))?;
            probing::run(assignment, load, probe, out)
        }
        Measure::Command(asked) => command::run(assignment, load, asked, out),
        Measure::Session(asked) => session::run(assignment, load, &asked.script, out),
        Measure::Memory(asked) => memory_job::run(assignment, load, asked, out),
    }
}
