//! The kernel's text formats as pure functions: text in, names and numbers out.
//!
//! The kernel writes its counters in a handful of formats (`Documentation/admin-guide/cgroup-v2.rst`,
//! section "Interface Files", names them), so there is one parser a format, not one a file. What a
//! process maps ([`maps`], [`smaps`]) and who it is ([`task_status`]) are formats of their own.
//!
//! **Invariant:** no I/O, no panic on any text. Lines and columns that a newer kernel has added are
//! kept or skipped; anything else that does not fit is an error that says where. An empty file is
//! an error too, because no kernel writes one here: it must not pass for "no counters"; only lists
//! of mappings may be empty.

mod colon_keyed;
mod cpu_total;
mod error;
mod flat_keyed;
mod interrupts;
mod limit;
mod maps;
mod pressure;
mod smaps;
mod space_separated;
mod task_stat;
mod task_status;
mod words;

pub use colon_keyed::colon_keyed;
pub(crate) use colon_keyed::colon_pairs;
pub use cpu_total::proc_stat;
pub use error::{ParseError, Place, Reason};
pub use flat_keyed::flat_keyed;
pub(crate) use flat_keyed::flat_pairs;
pub use interrupts::interrupts;
pub use limit::limit;
pub use maps::{MapsLine, maps};
pub use model::Values;
pub use pressure::pressure;
pub use smaps::{SmapsMapping, smaps};
pub use space_separated::{schedstat, single_value};
pub use task_stat::task_stat;
pub use task_status::{TaskStatus, task_status, task_status_counters};

/// Names and numbers in the order of a file, which may name one twice.
pub(crate) type Pairs = Vec<(model::Name, u64)>;
