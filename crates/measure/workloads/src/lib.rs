//! Workloads: everything that can run, in one catalogue.
//!
//! - A *load* is reproducible background activity; a *provocation* is a load that causes a
//!   condition for which the doctor has a rule; an *exhaustion* is a load that fills all memory.
//! - A *probe* is a small interaction that is timed repeatedly under a load.
//! - A *job* is work that is itself timed: the users of a session, processes that touch memory, or
//!   the user's own commands.
//!
//! Each is one file with a [`Workload`], and one row of the table in `catalogue.rs`.
//!
//! **Invariant:** a load touches only its own memory, directory and message queue, within the sizes
//! of its plan. The timed region of a probe is one call of [`Interaction::interact`]; nothing in it
//! allocates, logs, locks or prints, unless the probe exists to time it. What a user of a session
//! does is a function of script, seed and user number. A version changes when the meaning changes.

mod catalogue;
mod command;
mod exhaust;
mod job;
mod loads;
mod metric;
mod probes;
mod provoke;
mod service;
mod session;
mod setting;
mod tools;
mod workload;

pub use catalogue::{
    ALL, find_job, find_load, find_probe, jobs, loads, loads_and_provocations,
    may_have_zero_volume, probes,
};
pub use command::{
    COMMAND, command_text, commands, hook, longest_command_ns, one_line, repetitions, words_of,
};
pub use job::{check_command, longest_ns};
pub use metric::{Metric, metrics};
pub use service::{Ready, Service, service};
pub use session::{
    CORPUS_BYTES, DEFAULT_SCRIPT, MOST_USERS, Resolved, SESSION, arguments, fill, parse_script,
    resolve, script_text, search_path, set, why_not_there,
};
pub(crate) use setting::{Endless, at, emptied, page_bytes, scaled};
pub use setting::{Plan, Setting, WorkloadError};
pub use tools::{ROLE as TOOL_ROLE, run_tool, serve, tool_names};
pub(crate) use workload::ProbeResult;
pub use workload::{
    Interaction, Load, LoadVolume, MAX_PARTS, Parts, Probe, Progress, Rhythm, Work, Worker,
    Workload,
};
