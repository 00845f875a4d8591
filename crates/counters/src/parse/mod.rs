//! The kernel's text formats as pure functions: text in, names and numbers out.
//!
//! The kernel writes its counters in a handful of formats (`Documentation/admin-guide/cgroup-v2.rst`,
//! section "Interface Files", names them), so there is one parser a format, not one a file. What a
//! process maps ([`smaps`]) and who it is ([`task_status`]) are formats of their own.
//!
//! **Invariant:** no I/O, no panic on any text. Lines and columns that a newer kernel has added are
//! kept or skipped; anything else that does not fit is an error that says where. An empty file is
//! an error too, because no kernel writes one here: it must not pass for "no counters"; only lists
//! of mappings may be empty.

mod keyed;
mod machine;
mod mappings;
mod task;
mod words;

pub(crate) use keyed::cpu_stat_v1;
pub use keyed::{colon_keyed, flat_keyed, limit, pressure, single_value};
pub use machine::{interrupts, proc_stat};
pub use mappings::{Mapping, smaps};
pub use task::{TaskStatus, schedstat, task_stat, task_status, task_status_counters};
pub use words::ParseError;

/// Names and numbers in the order of a file, which may name one twice: the last one counts.
pub type Pairs = Vec<(model::Name, u64)>;
