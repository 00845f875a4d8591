//! Kernel counters: pure parsers, and readers with a settable root.
//!
//! Four parts:
//! - [`parse`]: the kernel's text formats as pure functions;
//! - [`Reader`] and [`TaskReader`]: files that are opened once and read before and after every
//!   sample;
//! - [`Hierarchies`]: where control groups are mounted;
//! - [`environment()`]: facts of the machine, read once a run.
//!
//! What stands where in a [`model::CounterSet`] is in `docs/run-format.md` (`counters`).
//!
//! **Invariant:** values are raw, never rates or differences. What cannot be read is absent, never
//! 0, and stands once in a list of [`model::Missed`] with its path and reason; its capability is the
//! source, with the file behind it if the source has several (`psi/irq`). Reading never fails
//! later on: a file that goes away (a control group is removed, a task ends) only takes its own
//! counters with it.

mod environment;
mod file;
mod hierarchies;
mod mounts;
pub mod parse;
mod reader;
mod task;
mod task_sum;
mod tasks;
mod taskstats;

pub use environment::{Roots, environment};
pub use hierarchies::{Hierarchies, Hierarchy, group_of};
pub use reader::{Reader, Sources};
pub use task::{TaskReader, delay_accounting_enabled};
pub use task_sum::{SUMMED_TASKS_MAX, TaskSum};
pub use tasks::Tasks;
