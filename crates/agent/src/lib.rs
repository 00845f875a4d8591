//! The agent: runs one spec in place and writes the lines of its run file.
//!
//! Kinds of processes, none of which outlives the agent:
//! the *observer* (the agent itself, outside the sandbox, locked into memory: it reads counters,
//! keeps time limits and writes lines), the *prober* (inside the sandbox: it sleeps until an
//! intended start, interacts, and reports two time stamps), or the *users* of a job and their
//! commands (inside the sandbox), and the load's *workers* (inside the sandbox, first victims of
//! the OOM killer).
//!
//! **Invariant:** the agent writes to its output and to its work directory and nowhere else; all
//! it starts dies with it, SIGKILL included.

mod assignment;
mod enter;
mod freezer;
mod job;
mod job_measure;
mod job_user;
mod job_users;
mod load_group;
mod measure;
mod observer;
mod output;
mod prober;
mod probing;
mod record;
mod run;
mod schedule;
mod waiter;

pub use assignment::{Assignment, Freeze};
pub use run::{AgentError, run};
pub use waiter::{Waiter, Woken};
