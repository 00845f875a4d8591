//! The rules, one file each, and the table of all.

mod compaction;
mod cpu_denied;
mod fork_storm;
mod global_reclaim;
mod hypervisor_mmu;
mod lock_contention;
mod memcg_refault;
mod memory_high;
mod minor_faults;
mod numa_hinting;
mod page_tables;
mod proactive_eviction;
mod shootdown;
mod swap_thrash;
mod translation;
mod writeback_throttle;

// Each rule imports all of this with `use super::*`.
use crate::affected::{Affected, affected, verdict_of_work};
use crate::cpu_time::{CpuTime, cpu_ticks};
use crate::interval::{Change, Interval, TICK_NS, Task};
use crate::lost_time::{LOST_SHARE, NOTE_SHARE};
use crate::minor_faults::{anonymous_pages, split};
use crate::rule::{RuleResult, ruled_out, unable};
use crate::threads::Threads;
use crate::waits::{NO_DELAYS, Traffic, Waits, lost_of_tasks};
use crate::{Family, Finding, LostTime, Operation, Price, Provocation, Rule, Scope, UnitCosts};

/// All rules; findings are ranked by time lost, so the order does not matter.
pub const ALL: &[Rule] = &[
    compaction::RULE,
    cpu_denied::RULE,
    fork_storm::RULE,
    global_reclaim::RULE,
    hypervisor_mmu::RULE,
    lock_contention::RULE,
    memcg_refault::RULE,
    memory_high::RULE,
    minor_faults::RULE,
    numa_hinting::RULE,
    page_tables::RULE,
    proactive_eviction::RULE,
    shootdown::RULE,
    swap_thrash::RULE,
    translation::RULE,
    writeback_throttle::RULE,
];
