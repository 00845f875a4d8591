//! `exhaust-build`: a build with too many jobs. Each job grows, works on its memory and ends; the
//! next one takes its place.

use rand::RngExt;

use super::{Offenders, exhaustion, fill_half, grow, keep, planned, processes, random_of};
use crate::{Endless, Plan, Setting, Worker, Workload, page_bytes, scaled};

/// Share of memory that a job holds at its end.
const SHARE: f64 = 0.2;
/// Jobs at a time at an intensity of 1: 160 % of memory.
const AT_ONCE: f64 = 8.0;
/// Jobs of the whole build, per job at a time.
const ROUNDS: u64 = 3;
/// Touches of pages at random after a job has grown.
const TOUCHES: usize = 200_000;

pub(crate) const LOAD: Workload = Workload {
    name: "exhaust-build",
    about: "a build of 24 jobs, 8 at a time, each of which takes a fifth of memory",
    ..exhaustion(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let at_once = processes(setting, AT_ONCE);
    let size_bytes = scaled(setting.memory_bytes, SHARE);
    let most = at_once * ROUNDS;
    planned(setting, Offenders { at_once, most, size_bytes, bytes_per_s: size_bytes })
}

fn work(worker: &Worker<'_>) -> Endless {
    keep(worker, &|worker, number| {
        let mut random = random_of(worker, number);
        let size_bytes = worker.plan.param("offender_bytes");
        let held = grow(worker, size_bytes, &mut |mapping| fill_half(mapping, &mut random))?;
        for _ in 0..TOUCHES {
            let mapping = &held[random.random_range(0..held.len())];
            let pages = (mapping.size_bytes() / page_bytes()).max(1);
            mapping.write(random.random_range(0..pages) * page_bytes(), 1);
        }
        Ok(())
    })
}
