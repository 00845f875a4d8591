//! The memory jobs as types: their needs and time limits.

use model::JobSpec;

use super::PAGE_BYTES;
use super::touch::{Pages, TOUCH, TouchPlan};
use super::vmtest::{VMTEST, VmtestPlan};

/// Approximate kernel memory of a process without its page tables, in bytes.
const PROCESS_BYTES: u64 = 64 << 10;
/// Longest preparation of any memory, which may be swapped out at once to a slow disk, in ns.
const MAKING_NS: u64 = 300_000_000_000;
/// Slowest preparation of memory.
const MADE_BYTES_PER_S: u64 = 16 << 20;

/// A memory job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryJob {
    /// Irlam's program.
    Vmtest(VmtestPlan),
    /// The general form.
    Touch(TouchPlan),
}

impl MemoryJob {
    /// Reads a spec. Fails for another job, and with what is missing or contradictory.
    pub fn new(job: &JobSpec) -> Result<Self, String> {
        if job.name == VMTEST.name {
            VmtestPlan::new(job).map(Self::Vmtest)
        } else if job.name == TOUCH.name {
            TouchPlan::new(job).map(Self::Touch)
        } else {
            Err(format!("no job is named {:?}", job.name))
        }
    }

    /// The number of processes.
    pub fn processes(&self) -> u64 {
        match self {
            Self::Vmtest(plan) => plan.processes,
            Self::Touch(plan) => plan.processes,
        }
    }

    /// How long the steady state is measured, in ns.
    pub fn time_ns(&self) -> u64 {
        match self {
            Self::Vmtest(plan) => plan.time_ns,
            Self::Touch(plan) => plan.time_ns,
        }
    }

    /// Longest measurement, in ns.
    pub fn limit_ns(&self) -> u64 {
        match self {
            Self::Vmtest(plan) => plan.limit_ns,
            Self::Touch(plan) => plan.limit_ns,
        }
    }

    /// Longest preparation of the memory, in ns: a minute, and a second for each 16 MiB.
    pub fn making_ns(&self) -> u64 {
        let bytes = match self {
            Self::Vmtest(plan) => plan.process_bytes,
            Self::Touch(plan) => plan.touched_bytes(),
        };
        MAKING_NS.saturating_add((bytes / MADE_BYTES_PER_S).saturating_mul(1_000_000_000))
    }

    /// Physical memory needed, with page tables but without reserved huge pages, in bytes.
    pub fn need_bytes(&self) -> u64 {
        match self {
            Self::Vmtest(plan) => {
                let process_bytes =
                    PROCESS_BYTES.saturating_add(table_bytes(plan.process_bytes, PAGE_BYTES));
                plan.processes.saturating_mul(process_bytes).saturating_add(plan.process_bytes)
            }
            Self::Touch(plan) => {
                if plan.pages == Pages::Hugetlb {
                    return plan.processes.saturating_mul(PROCESS_BYTES);
                }
                let tables_bytes = table_bytes(plan.footprint_bytes, plan.spread_bytes);
                let process_bytes = PROCESS_BYTES.saturating_add(tables_bytes);
                plan.processes.saturating_mul(process_bytes).saturating_add(plan.touched_bytes())
            }
        }
    }
}

/// Page tables of pages `spread_bytes` apart: whole tables on each level, at most one per page.
fn table_bytes(mapped_bytes: u64, spread_bytes: u64) -> u64 {
    let pages = mapped_bytes.div_ceil(PAGE_BYTES);
    let space_bytes = pages.saturating_mul(spread_bytes.max(PAGE_BYTES));
    let of_level = |level: u32| {
        let table_reaches_bytes = PAGE_BYTES << (9 * (level + 1));
        space_bytes.div_ceil(table_reaches_bytes).min(pages) * PAGE_BYTES
    };
    (0..3).map(of_level).sum()
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
