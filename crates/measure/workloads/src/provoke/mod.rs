//! Provocations: loads that cause a condition which the doctor has a rule for; run only on request.
//!
//! `intensity` 1 provokes the condition, 0 is the control run. All count `operations` and their
//! time, `busy_ns`, so the condition costs 1 − rate(1) ÷ rate(0) in operations per ns.

pub(crate) mod compaction;
pub(crate) mod cpu_denied;
pub(crate) mod fork_storm;
pub(crate) mod global_reclaim;
pub(crate) mod lock_contention;
mod mapped_file;
pub(crate) mod memcg_refault;
pub(crate) mod memory_high;
pub(crate) mod minor_faults;
pub(crate) mod numa_hinting;
pub(crate) mod page_tables;
mod pinned;
pub(crate) mod proactive_eviction;
pub(crate) mod shootdown;
pub(crate) mod swap_thrash;
pub(crate) mod switches;
pub(crate) mod translation;
pub(crate) mod writeback_throttle;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use rand::RngExt;
use sys::clock::monotonic_ns;

use crate::{Endless, Load, Plan, Progress, Setting, Work, Worker, Workload, emptied, page_bytes};

/// The totals, in the order of the slots.
pub(crate) const TOTALS: &[&str] = &["operations", "busy_ns"];
const OPERATIONS: usize = 0;
const BUSY_NS: usize = 1;

const CHUNK_BYTES: usize = 1 << 20;
/// Size and alignment of a huge page in bytes, where a page has 4096.
const HUGE_BYTES: u64 = 2 << 20;

/// A provocation whose processes, by its parameter or one, are always in an operation.
const fn provocation(
    plan: fn(&Setting) -> Result<Plan, String>,
    work: fn(&Worker<'_>) -> Endless,
) -> Workload {
    let load = Load::new(plan, work, |progress| {
        let processes = progress.plan.params.get("processes");
        progress.busy(processes.copied().unwrap_or(1), BUSY_NS)
    });
    Workload { measures: TOTALS, volume_unit: "busy_ns", ..Workload::new(Work::Provocation(load)) }
}

/// Whether all pages of a parameter's bytes have been passed over so many times.
fn has_passed(progress: &Progress<'_>, parameter: &str, passes: u64) -> bool {
    let pages = progress.plan.param(parameter) / page_bytes() as u64;
    progress.since_start(OPERATIONS) >= passes * pages
}

/// Runs operations and counts them and their time.
fn counted<T>(worker: &Worker<'_>, operations: u64, act: impl FnOnce() -> T) -> T {
    let start_ns = monotonic_ns();
    let result = act();
    worker.add(OPERATIONS, operations);
    worker.add(BUSY_NS, monotonic_ns() - start_ns);
    result
}

/// A file of seeded bytes, written by the worker, so that its control group is charged.
fn written(worker: &Worker<'_>, path: &Path, file_bytes: u64) -> io::Result<File> {
    let mut chunk = vec![0; CHUNK_BYTES.min(file_bytes as usize)];
    worker.random().fill(&mut chunk[..]);
    let mut file = emptied(path)?;
    let mut rest = file_bytes as usize;
    while rest > 0 {
        file.write_all(&chunk[..CHUNK_BYTES.min(rest)])?;
        rest = rest.saturating_sub(CHUNK_BYTES);
    }
    file.sync_all()?;
    Ok(file)
}

/// Which turns have the condition: `percent` of them, spread evenly.
fn turns(percent: u64) -> impl FnMut() -> bool {
    let mut turn = 0;
    move || {
        turn += 1;
        turn * percent / 100 > (turn - 1) * percent / 100
    }
}

/// An intensity as the share of turns that have the condition, in percent.
fn percent(intensity: f64) -> u64 {
    (intensity.min(1.0) * 100.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_spread_evenly() {
        let of = |intensity| {
            let mut next = turns(percent(intensity));
            (0..8).map(|_| u8::from(next())).collect::<Vec<u8>>()
        };
        assert_eq!(of(0.0), [0; 8]);
        assert_eq!(of(1.0), [1; 8]);
        assert_eq!(of(7.0), [1; 8]);
        assert_eq!(of(0.25), [0, 0, 0, 1, 0, 0, 0, 1]);
    }
}
