//! Kernel counters: pure parsers ([`parse`]), and readers of files that stay open.
//!
//! The layout of a [`model::CounterSet`] is in `docs/run-format.md` (`counters`).
//!
//! **Invariant:** values are raw, never rates or differences. What cannot be read is absent, never
//! 0, and listed once as [`model::Unavailable`] with its source (`psi/irq` if that has several
//! files), path and reason. A file that disappears later only takes its own counters with it.

mod ended_tasks;
mod environment;
mod file;
mod hierarchies;
mod mounts;
pub mod parse;
mod reader;
mod task;
mod tasks;
mod taskstats;

pub use ended_tasks::EndedTasks;
pub use environment::{Roots, environment};
pub use file::Reader;
pub use hierarchies::{Hierarchies, Hierarchy, group_of};
pub use reader::Sources;
pub use task::{SUMMED_TASKS_MAX, TaskReader, TaskSum, delay_accounting_enabled};
pub use tasks::Tasks;
