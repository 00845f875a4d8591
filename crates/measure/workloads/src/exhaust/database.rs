//! `exhaust-database`: a database whose cache is larger than memory. It grows quickly, and then
//! touches its pages at random, four of five times a page of the first fifth.

use rand::RngExt;

use super::{Offenders, exhaustion, fill_half, grow, keep, planned, random_of};
use crate::{Endless, Plan, Setting, Worker, Workload, page_bytes, scaled};

/// Size of the cache as a share of memory, at an intensity of 0 and what 1 adds to it.
const SHARE: f64 = 0.75;
const MORE: f64 = 0.5;
/// Share of memory that it takes per second while it grows.
const SHARE_PER_S: f64 = 0.5;
/// The hot part is one of so many, and one of so many touches is anywhere.
const PARTS: usize = 5;

pub(crate) const LOAD: Workload = Workload {
    name: "exhaust-database",
    about: "a database with a cache of 125 % of memory, touched at random forever",
    ..exhaustion(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let size_bytes = scaled(setting.memory_bytes, SHARE + MORE * setting.intensity);
    let bytes_per_s = scaled(setting.memory_bytes, SHARE_PER_S);
    planned(setting, Offenders { at_once: 1, most: 1, size_bytes, bytes_per_s })
}

fn work(worker: &Worker<'_>) -> Endless {
    keep(worker, &|worker, number| {
        let mut random = random_of(worker, number);
        let size_bytes = worker.plan.param("offender_bytes");
        let held = grow(worker, size_bytes, &mut |mapping| fill_half(mapping, &mut random))?;
        let hot = (held.len() / PARTS).max(1);
        loop {
            let is_anywhere = random.random_range(0..PARTS) == 0;
            let chunk = random.random_range(0..if is_anywhere { held.len() } else { hot });
            let pages = (held[chunk].size_bytes() / page_bytes()).max(1);
            held[chunk].write(random.random_range(0..pages) * page_bytes(), 1);
        }
    })
}
