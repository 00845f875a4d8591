//! Kernel counters: pure parsers, and readers with a settable root.
//!
//! Four parts:
//! - [`parse`]: the kernel's text formats as pure functions;
//! - [`Reader`] and [`TaskReader`]: files that are opened once and read before and after every
//!   sample;
//! - [`Hierarchies`]: where control groups are mounted;
//! - [`environment()`]: facts of the machine, read once a run.
//!
//! What stands where in a [`model::CounterSet`]:
//!
//! | source | file | names and units |
//! |---|---|---|
//! | `vmstat` | `/proc/vmstat` | as the kernel spells them; pages (`nr_*`) or events |
//! | `stat` | `/proc/stat` | `cpu_user_ticks`, …, `intr_total`, `ctxt`, `processes`, `procs_*` |
//! | `meminfo` | `/proc/meminfo` | `MemFree_kb` (1024 bytes), …, `HugePages_Total` (pages) |
//! | `interrupts` | `/proc/interrupts` | `TLB`, `CAL`, `RES`, …: events, of all CPUs; no devices' |
//! | `psi` | `/proc/pressure/*` | `cpu_some_us`, `io_full_us`, `memory_some_us`, … |
//! | `memcg` | `memory.stat` | as the kernel spells them; bytes or events |
//! | | `memory.current`, `memory.swap.current` | `current_bytes`, `swap_current_bytes` |
//! | | `memory.events` | `events_low`, `events_high`, `events_max`, `events_oom`, … |
//! | | `memory.max`, `memory.high` | `limit_bytes`, `high_bytes`; absent without a limit |
//! | | v1 `memory.{usage,max_usage}_in_bytes` | `usage_in_bytes`, `max_usage_in_bytes` |
//! | | v1 `memory.failcnt` | `failcnt` (events) |
//! | | v1 `memory.limit_in_bytes` | `limit_bytes`; absent without a limit |
//! | `memcg_psi` | `{cpu,io,memory}.pressure` | as `psi` |
//! | `cpu_cgroup` | `cpu.stat` | `usage_usec`, `nr_throttled`, `throttled_usec`, … |
//! | | v1 `cpu.stat`, `cpuacct.usage` | `nr_throttled`, `throttled_time_ns`, …; `usage_ns` |
//! | `schedstat` | `/proc/PID/schedstat` | `run_ns`, `wait_ns`, `timeslices`; the first thread |
//! | `task_stat` | `/proc/PID/stat` | `minflt`, `majflt`, `utime_ticks`, …; the whole process |
//! | `task_status` | `/proc/PID/status` | `VmRSS_kb`, `VmPTE_kb`, `Threads`, …; the whole process |
//! | `taskstats` | netlink | `swapin_count`, `swapin_delay_total_ns`, …; the first thread, of [`Tasks`] all |
//! | `load_task_stat`, … | the three above | summed over several processes ([`TaskSum`]) |
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
