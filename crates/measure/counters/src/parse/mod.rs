//! The kernel's text formats as pure functions: one parser per format of
//! `Documentation/admin-guide/cgroup-v2.rst`, and of processes [`smaps`] and [`task_status`].
//!
//! **Invariant:** no I/O, no panic on any text. Lines and columns that a newer kernel adds are kept
//! or skipped; anything else that does not fit is an error with its place. So is an empty file,
//! except of mappings: it must not pass for "no counters".

mod keyed;
mod machine;
mod mappings;
mod task;
mod words;

pub(crate) use keyed::cpu_stat_v1;
pub use keyed::{colon_keyed, flat_keyed, limit, pressure, single_value};
pub use machine::{interrupts, proc_stat, ranges};
pub use mappings::{Mapping, smaps};
pub use task::{TaskStatus, sched, schedstat, task_stat, task_status, task_status_counters};
pub use words::ParseError;

/// Names and numbers in the order of a file, which may name one twice: the last one counts.
pub type Pairs = Vec<(model::Name, u64)>;
