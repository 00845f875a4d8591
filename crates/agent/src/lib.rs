//! The agent: runs one spec in place and writes the lines of its run file.
//!
//! Kinds of processes, none of which outlives the agent:
//! the *observer* (the agent itself, outside the sandbox, locked into memory: it reads counters,
//! keeps time limits and writes lines), the *prober* (inside the sandbox: it sleeps until an
//! intended start, interacts, and reports two time stamps), or the *users* of a session and their
//! commands, or the *parent* of a job on memory and its processes (inside the sandbox, first
//! victims of the OOM killer), and the load's *workers* (the same).
//!
//! **Invariant:** the agent writes to its output and to its work directory and nowhere else; all
//! it starts dies with it, SIGKILL included.

mod assignment;
mod children;
mod due;
mod load;
mod memory_board;
mod memory_group;
mod memory_job;
mod memory_measure;
mod observer;
mod output;
mod page_policy;
mod prober;
mod probing;
mod record;
mod run;
mod session;
mod touch_process;
mod touched_memory;
mod users;
mod vmtest_process;
mod waiter;

pub use assignment::{AgentError, Assignment, Freeze};
pub use due::Due;
pub use run::run;
pub use waiter::{Waiter, Woken};
