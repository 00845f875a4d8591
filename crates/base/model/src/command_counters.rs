//! The names of what a CPU and the kernel count for a command, in the usage of its repetitions.

/// Counters of a command and of all that it starts, until it ends (`perf_event_open(2)`). Those that begin with
/// `user_` leave the kernel's part out, which an ordinary user may not see: they are other figures.
pub const COMMAND_COUNTERS: [&str; 16] = [
    "instructions",
    "user_instructions",
    "cycles",
    "user_cycles",
    "branches",
    "user_branches",
    "branch_misses",
    "user_branch_misses",
    "cache_references",
    "user_cache_references",
    "cache_misses",
    "user_cache_misses",
    "dtlb_load_misses",
    "user_dtlb_load_misses",
    "task_clock_ns",
    "cpu_migrations",
];

/// The end of the name of the part of the time in which a counter was on the CPU, in thousandths; absent where
/// that is all of it. Else the count is an estimate.
pub const ACTIVE_PERMILLE: &str = "_active_permille";
