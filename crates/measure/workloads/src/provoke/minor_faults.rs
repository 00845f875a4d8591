//! `provoke-minor-faults`: memory is mapped, touched and unmapped, over and over.

use std::io;

use sys::memory::Mapping;

use super::{counted, has_passed, percent, provocation, turns};
use crate::{Endless, Plan, Setting, Worker, Workload, at, page_bytes};

const MAP_BYTES: u64 = 16 << 20;
const WARM_PASSES: u64 = 10;

pub(crate) const LOAD: Workload = Workload {
    name: "provoke-minor-faults",
    about: "map, touch and unmap 16 MiB (at 0 touch what stays mapped)",
    is_warm: |progress| has_passed(progress, "map_bytes", WARM_PASSES),
    ..provocation(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    setting.needs_memory(2 * MAP_BYTES)?;
    Ok(Plan::new(1, [("map_bytes", MAP_BYTES), ("unmapped_percent", percent(setting.intensity))]))
}

fn work(worker: &Worker<'_>) -> Endless {
    let map_bytes = worker.plan.param("map_bytes") as usize;
    let failed = |error| at("map memory")(error);
    let pages = (map_bytes / page_bytes()) as u64;
    let mut is_turn = turns(worker.plan.param("unmapped_percent"));
    let mut mapping = Mapping::small_pages(map_bytes).map_err(failed)?;
    loop {
        let pass = || -> io::Result<Mapping> {
            let next = if is_turn() { Mapping::small_pages(map_bytes)? } else { mapping };
            next.touch(page_bytes(), 1);
            Ok(next)
        };
        mapping = counted(worker, pages, pass).map_err(failed)?;
    }
}
