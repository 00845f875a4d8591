//! The kernel's functions through which every thread leaves its CPU; who calls them says why.

const OF_SCHEDULER: [&str; 12] = [
    "__schedule",
    "__switch_to_asm",
    "io_schedule",
    "io_schedule_timeout",
    "preempt_schedule",
    "schedule",
    "schedule_hrtimeout_range",
    "schedule_hrtimeout_range_clock",
    "schedule_idle",
    "schedule_preempt_disabled",
    "schedule_timeout",
    "schedule_timeout_uninterruptible",
];

/// Whether a function of the kernel says nothing but that a thread waits.
pub fn only_schedules(function: &str) -> bool {
    OF_SCHEDULER.contains(&function)
}
