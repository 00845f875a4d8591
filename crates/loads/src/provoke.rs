//! Provocations: loads that bring about a condition which the doctor has a rule for.
//!
//! `intensity` 1 provokes the condition, 0 is the same work without it. All of them count their
//! `operations` and the time that these took, `busy_ns`, so what the condition costs is
//! 1 − rate(1) ÷ rate(0), with the rate in operations for each ns.
//!
//! A provocation is a load like any other, but `thrashlab run` makes it only when it is asked for.

mod cpu_denied;
mod fork_storm;
mod global_reclaim;
mod mapped_file;
mod memcg_refault;
mod memory_high;
mod minor_faults;
mod numa_hinting;
mod page_tables;
mod proactive_eviction;
mod shootdown;
mod swap_thrash;
mod switches;
mod translation;
mod writeback_throttle;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use sys::clock::monotonic_ns;

use crate::desc::{Desc, Dose, Progress, Work};

/// All provocations, by name.
pub const PROVOCATIONS: &[Desc] = &[
    cpu_denied::LOAD,
    fork_storm::LOAD,
    global_reclaim::LOAD,
    memcg_refault::LOAD,
    memory_high::LOAD,
    minor_faults::LOAD,
    numa_hinting::LOAD,
    page_tables::LOAD,
    proactive_eviction::LOAD,
    shootdown::LOAD,
    swap_thrash::LOAD,
    switches::LOAD,
    translation::LOAD,
    writeback_throttle::LOAD,
];

/// Names of the totals, in the order of the slots.
pub(crate) const TOTALS: &[&str] = &["operations", "busy_ns"];
const OPERATIONS: usize = 0;
const BUSY_NS: usize = 1;

/// Bytes of a file that are written at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Bytes of a small page of this machine.
fn page_bytes() -> usize {
    sys::pagemap::page_bytes() as usize
}

/// Does some operations and counts them, and the time that they took, when they are done.
fn counted<T>(work: &Work<'_>, operations: u64, act: impl FnOnce() -> T) -> T {
    let start_ns = monotonic_ns();
    let result = act();
    work.board.add(work.worker, OPERATIONS, operations);
    work.board.add(work.worker, BUSY_NS, monotonic_ns() - start_ns);
    result
}

/// A file of seeded bytes, written by the worker itself, so that its pages are the group's own, and
/// on the disk.
fn written(path: &Path, file_bytes: u64, seed: u64) -> io::Result<File> {
    let mut chunk = vec![0; CHUNK_BYTES.min(file_bytes as usize)];
    Pcg64Mcg::seed_from_u64(seed).fill(&mut chunk[..]);
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
    let mut rest = file_bytes as usize;
    while rest > 0 {
        file.write_all(&chunk[..CHUNK_BYTES.min(rest)])?;
        rest = rest.saturating_sub(CHUNK_BYTES);
    }
    file.sync_all()?;
    Ok(file)
}

/// Intended: every worker inside an operation all the time.
fn dose(progress: &Progress<'_>) -> Dose {
    let intended = progress.elapsed_ns * progress.plan.workers as u64;
    Dose { intended, delivered: progress.total(BUSY_NS) }
}

/// Which of many turns have the condition: a share of them, spread evenly.
#[derive(Debug)]
struct Turns {
    percent: u64,
    credit: u64,
}

impl Turns {
    /// `percent` of all turns.
    fn new(percent: u64) -> Self {
        Self { percent, credit: 0 }
    }

    /// Whether the next turn has it.
    fn next(&mut self) -> bool {
        self.credit += self.percent;
        let has = self.credit >= 100;
        self.credit -= if has { 100 } else { 0 };
        has
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
            let mut turns = Turns::new(percent(intensity));
            (0..8).map(|_| u8::from(turns.next())).collect::<Vec<u8>>()
        };
        assert_eq!(of(0.0), [0; 8]);
        assert_eq!(of(1.0), [1; 8]);
        assert_eq!(of(7.0), [1; 8]);
        assert_eq!(of(0.25), [0, 0, 0, 1, 0, 0, 0, 1]);
    }

    #[test]
    fn every_provocation_counts_the_same_and_plans_both_of_its_sides() {
        for load in PROVOCATIONS {
            assert!(load.name.starts_with("provoke-"), "{}", load.name);
            assert_eq!(load.totals[..2], *TOTALS, "{}", load.name);
            let sides = [0.0, 1.0].map(|intensity| {
                let setting = crate::Setting {
                    memory_bytes: 256 << 20,
                    cpus_milli: 2000,
                    swap_bytes: 1 << 30,
                    work_dir: "/".into(),
                    free_disk_bytes: 1 << 30,
                    queue_key: 0,
                    seed: 1,
                    intensity,
                };
                (load.plan)(&setting).unwrap_or_else(|why| panic!("{}: {}", load.name, why.0))
            });
            assert_ne!(sides[0].params, sides[1].params, "{}", load.name);
            assert!(sides.iter().all(|plan| plan.workers > 0), "{}", load.name);
        }
    }
}
