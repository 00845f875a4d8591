//! The agent: runs one spec in place and writes the lines of its run file.
//!
//! The *observer* is the agent itself, outside the sandbox and locked into memory: it reads
//! counters, keeps time limits and writes lines. Inside the sandbox run the *prober*, the *users*
//! of a session, or the *parent* of a memory job and its processes, and the load's *workers*.
//!
//! **Invariant:** the agent writes only to its output and its work directory; all that it starts
//! dies with it, SIGKILL included.

mod assignment;
mod children;
mod due;
mod load;
mod memory_counters;
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
