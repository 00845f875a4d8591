//! Exhaustions: loads that fill all memory, to see how long the machine is gone and who dies.
//!
//! A worker of such a load is a *supervisor*, which the OOM killer spares where the kernel allows that.
//! It starts one *bystander*, a process that holds a quarter of memory and touches all of it each
//! second, waits for some intervals, and then starts the *offenders*. It counts how each of them
//! ends, so the run continues after the kernel has killed some, and the file has who they were.
//! Offenders and bystander are ordinary processes (`oom_score_adj` 0): whom the kernel kills is its
//! decision.
//!
//! An intensity of 0 has the bystander and no offender: the control run.

pub(crate) mod build;
pub(crate) mod burst;
pub(crate) mod database;
pub(crate) mod forks;
pub(crate) mod leak;
pub(crate) mod page_cache;
pub(crate) mod text;
pub(crate) mod tmpfs;

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use sys::clock::{monotonic_ns, sleep_until_ns};
use sys::memory::Mapping;
use sys::process::{Exit, become_urgent, fork_child, signals, wait_any};

use crate::{
    Endless, Load, LoadVolume, Plan, Setting, Work, Worker, Workload, WorkloadError, page_bytes,
    scaled,
};

/// The totals of all exhaustions, in the order of the slots.
pub(crate) const TOTALS: &[&str] = &[
    "bystander_touches",
    "offender_bytes",
    "offenders_started",
    "offenders_finished",
    "offenders_refused",
    "offenders_killed",
    "bystanders_killed",
    "first_kill_after_ns",
];
const BYSTANDER_TOUCHES: usize = 0;
const OFFENDER_BYTES: usize = 1;
const STARTED: usize = 2;
const FINISHED: usize = 3;
const REFUSED: usize = 4;
const OFFENDERS_KILLED: usize = 5;
const BYSTANDERS_KILLED: usize = 6;
const FIRST_KILL_AFTER_NS: usize = 7;

/// Share of memory that the bystander holds.
const BYSTANDER_SHARE: f64 = 0.25;
/// Intervals between the warm state and the first offender, in which responses are idle.
const LEAD_INTERVALS: u64 = 6;
/// Time between two looks of the supervisor, and between the starts of two offenders, in ns.
const TICK_NS: u64 = 10_000_000;
/// Time between two rounds of the bystander, which touches a part of its memory in each, in ns.
const ROUND_NS: u64 = 50_000_000;
/// Rounds in which the bystander touches all of its memory.
const ROUNDS: usize = 16;
/// Memory that a growing process maps at once, in bytes.
const CHUNK_BYTES: u64 = 256 << 10;
/// An offender holds at most this many times the memory, if the kernel lets it.
const MOST_SHARE: f64 = 4.0;

/// What the offenders of a load are, for one subject.
#[derive(Clone, Copy, Default)]
struct Offenders {
    /// Processes at a time.
    at_once: u64,
    /// Processes in all: one that ended is replaced until then.
    most: u64,
    /// Memory of each, in bytes.
    size_bytes: u64,
    /// Growth of each per second, in bytes; 0 is as fast as it can.
    bytes_per_s: u64,
}

/// An exhaustion.
const fn exhaustion(
    plan: fn(&Setting) -> Result<Plan, String>,
    work: fn(&Worker<'_>) -> Endless,
) -> Workload {
    let load = Load::new(plan, work, |_| LoadVolume { intended: 0, delivered: 0 });
    Workload {
        measures: TOTALS,
        is_warm: |progress| progress.since_start(BYSTANDER_TOUCHES) > 0,
        ..Workload::new(Work::Exhaustion(load))
    }
}

/// The plan of a load with these offenders, of which an intensity of 0 has none.
fn planned(setting: &Setting, offenders: Offenders) -> Result<Plan, String> {
    if !setting.is_confined {
        return Err("it fills all memory, so it runs only in a guest or a sandbox".to_owned());
    }
    let is_control = setting.intensity == 0.0;
    let Offenders { at_once, most, size_bytes, bytes_per_s } = offenders;
    let params = [
        ("offenders", if is_control { 0 } else { at_once }),
        ("most_offenders", if is_control { 0 } else { most }),
        ("offender_bytes", size_bytes),
        ("bytes_per_s", bytes_per_s),
        ("bystander_bytes", scaled(setting.memory_bytes, BYSTANDER_SHARE)),
        ("lead_ns", LEAD_INTERVALS * setting.interval_ns),
    ];
    Ok(Plan::new(1, params))
}

/// A number of processes at an intensity, at least one.
fn processes(setting: &Setting, at_one: f64) -> u64 {
    ((at_one * setting.intensity).round() as u64).max(1)
}

/// The size of an offender that never stops growing by itself.
fn without_end(setting: &Setting) -> u64 {
    scaled(setting.memory_bytes, MOST_SHARE)
}

/// Why an offender ends before it is killed: `Ok` when its work is done.
type Offence = Result<(), WorkloadError>;

/// Keeps a bystander and offenders, each of which gets its number, and counts how they end.
fn keep(worker: &Worker<'_>, offend: &dyn Fn(&Worker<'_>, u64) -> Offence) -> Endless {
    become_supervisor();
    let bystander = fork_child(|| bystander(worker)).map_err(crate::at("start the bystander"))?;
    while worker.shared.get(worker.number, BYSTANDER_TOUCHES) == 0 {
        sleep_until_ns(monotonic_ns() + TICK_NS);
    }
    sleep_until_ns(monotonic_ns() + worker.plan.param("lead_ns"));
    let (at_once, most) = (worker.plan.param("offenders"), worker.plan.param("most_offenders"));
    let start_ns = monotonic_ns();
    let mut alive = BTreeSet::new();
    let mut started = 0;
    loop {
        if started < most && (alive.len() as u64) < at_once {
            match fork_child(|| i32::from(as_offender(worker, started, offend).is_err())) {
                Ok(pid) => {
                    alive.insert(pid);
                    started += 1;
                    worker.add(STARTED, 1);
                }
                Err(_) => worker.add(REFUSED, 1),
            }
        }
        // Without a child there is nobody to wait for, which is not a failure.
        while let Ok(Some((pid, exit))) = wait_any(false) {
            let is_offender = alive.remove(&pid);
            match exit {
                Exit::Signal(signals::KILL) => {
                    let slot = if is_offender { OFFENDERS_KILLED } else { BYSTANDERS_KILLED };
                    if is_offender || pid == bystander {
                        worker.add(slot, 1);
                        count_first_kill(worker, start_ns);
                    }
                }
                Exit::Code(0) => worker.add(FINISHED, 1),
                _ => worker.add(REFUSED, 1),
            }
        }
        sleep_until_ns(monotonic_ns() + TICK_NS);
    }
}

fn count_first_kill(worker: &Worker<'_>, start_ns: u64) {
    if worker.shared.get(worker.number, FIRST_KILL_AFTER_NS) == 0 {
        worker.add(FIRST_KILL_AFTER_NS, monotonic_ns() - start_ns);
    }
}

/// Makes the supervisor survive and answer, as far as the kernel allows it: it only counts.
fn become_supervisor() {
    if fs::write(SCORE, "-1000").is_err() {
        become_ordinary();
    }
    let _ = sys::memory::lock_touched();
    let _ = become_urgent();
}

/// Where a process chooses its standing with the OOM killer.
const SCORE: &str = "/proc/self/oom_score_adj";

/// Makes a process as likely to be killed as its size makes it. The agent has raised its score, and
/// a process may always take back what was raised.
fn become_ordinary() {
    let _ = fs::write(SCORE, "0");
}

fn as_offender(
    worker: &Worker<'_>,
    number: u64,
    offend: &dyn Fn(&Worker<'_>, u64) -> Offence,
) -> Offence {
    become_ordinary();
    offend(worker, number)
}

/// Holds memory and touches all of it each second, as a user's session does, until it is killed.
fn bystander(worker: &Worker<'_>) -> i32 {
    become_ordinary();
    let size_bytes = worker.plan.param("bystander_bytes") as usize;
    let Ok(mapping) = Mapping::anonymous(size_bytes.max(page_bytes())) else { return 1 };
    fill_half(&mapping, &mut worker.random());
    let step = page_bytes();
    let part_bytes = (mapping.size_bytes() / ROUNDS).next_multiple_of(step).max(step);
    let mut from = 0;
    let mut next_ns = monotonic_ns();
    loop {
        let offsets = (from..(from + part_bytes).min(mapping.size_bytes())).step_by(step);
        worker.add(BYSTANDER_TOUCHES, offsets.len() as u64);
        mapping.write_each(offsets, 1);
        from = if from + part_bytes >= mapping.size_bytes() { 0 } else { from + part_bytes };
        next_ns = (next_ns + ROUND_NS).max(monotonic_ns());
        sleep_until_ns(next_ns);
    }
}

/// Random numbers of one offender.
fn random_of(worker: &Worker<'_>, number: u64) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(worker.setting.seed ^ (number + 1).rotate_left(32))
}

/// Fills memory with words of which every second block of 256 is zero: it compresses to about half,
/// as the memory of programs does.
fn fill_half(mapping: &Mapping, random: &mut Pcg64Mcg) {
    let mut word = 0_u64;
    mapping.fill(|| {
        word += 1;
        if word & 0x100 == 0 { random.next_u64() } else { 0 }
    });
}

/// Maps and fills memory up to a size, at most at the rate of the plan. Fails when the kernel
/// refuses memory.
fn grow(
    worker: &Worker<'_>,
    size_bytes: u64,
    fill: &mut dyn FnMut(&Mapping),
) -> Result<Vec<Mapping>, WorkloadError> {
    let bytes_per_s = worker.plan.param("bytes_per_s");
    let start_ns = monotonic_ns();
    let mut held = Vec::new();
    let mut grown_bytes = 0;
    while grown_bytes < size_bytes {
        let chunk_bytes = CHUNK_BYTES.min(size_bytes - grown_bytes).max(page_bytes() as u64);
        let mapping = Mapping::anonymous(chunk_bytes as usize).map_err(crate::at("map memory"))?;
        fill(&mapping);
        held.push(mapping);
        grown_bytes += chunk_bytes;
        worker.add(OFFENDER_BYTES, chunk_bytes);
        pace(start_ns, grown_bytes, bytes_per_s);
    }
    Ok(held)
}

/// Sleeps until a size is due at a rate; a rate of 0 never waits.
fn pace(start_ns: u64, done_bytes: u64, bytes_per_s: u64) {
    if bytes_per_s > 0 {
        let due_ns = u128::from(done_bytes) * 1_000_000_000 / u128::from(bytes_per_s);
        sleep_until_ns(start_ns + due_ns as u64);
    }
}

/// Holds what a process has until it is killed.
fn hold() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_others_use_is_not_filled() {
        let setting = Setting { memory_bytes: 64 << 20, intensity: 1.0, ..Setting::default() };
        let offenders = Offenders { at_once: 1, most: 1, ..Offenders::default() };
        assert!(planned(&setting, offenders).unwrap_err().contains("guest or a sandbox"));
        let confined = Setting { is_confined: true, ..setting };
        assert_eq!(planned(&confined, offenders).unwrap().param("offenders"), 1);
    }

    #[test]
    fn the_control_run_has_a_bystander_and_no_offender() {
        let setting = Setting { memory_bytes: 64 << 20, is_confined: true, ..Setting::default() };
        let offenders = Offenders { at_once: 3, most: 9, ..Offenders::default() };
        let plan = planned(&setting, offenders).unwrap();
        assert_eq!((plan.param("offenders"), plan.param("most_offenders")), (0, 0));
        assert_eq!(plan.param("bystander_bytes"), 16 << 20);
    }

    #[test]
    fn half_of_the_memory_is_random() {
        let mapping = Mapping::anonymous(1 << 16).unwrap();
        fill_half(&mapping, &mut Pcg64Mcg::seed_from_u64(7));
        let zeros = (0..1 << 16).filter(|offset| mapping.read(*offset) == 0).count();
        assert!((32_000..34_000).contains(&zeros), "{zeros}");
    }
}
