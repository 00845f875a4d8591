//! `exhaust-forks`: a fork bomb whose processes are small. A process that was killed is replaced.

use super::{Offenders, exhaustion, fill_half, grow, hold, keep, planned, processes, random_of};
use crate::{Endless, Plan, Setting, Worker, Workload, scaled};

/// Share of memory that each process takes, in a second.
const SHARE: f64 = 1.0 / 32.0;
/// Processes at a time at an intensity of 1: three times the memory.
const AT_ONCE: f64 = 96.0;
/// Processes in all, per process at a time.
const LIVES: u64 = 4;

pub(crate) const LOAD: Workload = Workload {
    name: "exhaust-forks",
    about: "a fork bomb: 96 processes of a 32nd of memory each, one more every 10 ms",
    ..exhaustion(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let at_once = processes(setting, AT_ONCE);
    let size_bytes = scaled(setting.memory_bytes, SHARE);
    let most = at_once * LIVES;
    planned(setting, Offenders { at_once, most, size_bytes, bytes_per_s: size_bytes })
}

fn work(worker: &Worker<'_>) -> Endless {
    keep(worker, &|worker, number| {
        let mut random = random_of(worker, number);
        let size_bytes = worker.plan.param("offender_bytes");
        let _held = grow(worker, size_bytes, &mut |mapping| fill_half(mapping, &mut random))?;
        hold()
    })
}
