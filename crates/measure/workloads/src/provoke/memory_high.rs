//! `provoke-memory-high`: memory beyond `memory.high` is freed and touched, without swap.

use sys::memory::Mapping;

use super::{OPERATIONS, counted, provocation};
use crate::{Endless, Plan, Setting, Worker, Workload, at, page_bytes};

/// Held share of memory at an intensity of 0: below a `high` of one half.
const BELOW: f64 = 0.25;
/// Growth of that share at an intensity of 1: 55 % is above one half.
const MORE: f64 = 0.30;
/// Pages freed at once: as many as the kernel charges at once (`MEMCG_CHARGE_BATCH`).
const PAGES: usize = 64;
const WARM_OPERATIONS: u64 = 2;

pub(crate) const LOAD: Workload = Workload {
    name: "provoke-memory-high",
    about: "touch memory again at 55 % of the limit, where high is at 50 % (at 0 at 25 %)",
    is_warm: |progress| progress.since_start(OPERATIONS) >= WARM_OPERATIONS,
    ..provocation(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let pages = setting.pages_of_memory(BELOW + MORE * setting.intensity);
    let map_bytes = pages.max(PAGES as u64) * page_bytes() as u64;
    Ok(Plan::new(1, [("map_bytes", map_bytes)]))
}

fn work(worker: &Worker<'_>) -> Endless {
    let map_bytes = worker.plan.param("map_bytes") as usize;
    let part_bytes = PAGES * page_bytes();
    let mapping = Mapping::anonymous(map_bytes).map_err(at("map memory"))?;
    mapping.touch(page_bytes(), 1);
    loop {
        for start in (0..=map_bytes - part_bytes).step_by(part_bytes) {
            counted(worker, 1, || {
                mapping.give_back(start..start + part_bytes)?;
                mapping.write_each((start..start + part_bytes).step_by(page_bytes()), 1);
                std::io::Result::Ok(())
            })
            .map_err(at("give memory back"))?;
        }
    }
}
