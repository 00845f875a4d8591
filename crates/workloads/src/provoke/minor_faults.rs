//! `provoke-minor-faults`: memory is mapped, touched and unmapped, over and over.

use std::io;

use model::units::format_size;
use sys::memory::{Advice, Mapping};

use super::{OPERATIONS, Turns, counted, percent, provocation};
use crate::{Endless, Param, Plan, Setting, Worker, Workload, at, page_bytes};

const MAP_BYTES: u64 = 16 << 20;
const WARM_PASSES: u64 = 10;

pub(crate) const LOAD: Workload = Workload {
    name: "provoke-minor-faults",
    about: "map, touch and unmap 16 MiB (at 0 touch what stays mapped)",
    params: &[Param::resolved("map_bytes"), Param::resolved("unmapped_percent")],
    is_warm: |progress| {
        let pages = progress.plan.param("map_bytes") / page_bytes() as u64;
        progress.since_start(OPERATIONS) >= WARM_PASSES * pages
    },
    ..provocation(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    if MAP_BYTES > setting.memory_bytes / 2 {
        let half = format_size(setting.memory_bytes / 2);
        return Err(format!("{} is more than {half}", format_size(MAP_BYTES)));
    }
    Ok(Plan::new(1, [("map_bytes", MAP_BYTES), ("unmapped_percent", percent(setting.intensity))]))
}

fn work(worker: &Worker<'_>) -> Endless {
    let map_bytes = worker.plan.param("map_bytes") as usize;
    let failed = |error| at("map memory")(error);
    let pages = (map_bytes / page_bytes()) as u64;
    let mut turns = Turns::new(worker.plan.param("unmapped_percent"));
    let mut mapping = mapped(map_bytes).map_err(failed)?;
    loop {
        let pass = || -> io::Result<Mapping> {
            let next = if turns.next() { mapped(map_bytes)? } else { mapping };
            next.touch(page_bytes(), 1);
            Ok(next)
        };
        mapping = counted(worker, pages, pass).map_err(failed)?;
    }
}

/// Memory of small pages, whatever the system gives otherwise.
fn mapped(map_bytes: usize) -> io::Result<Mapping> {
    let mapping = Mapping::anonymous(map_bytes)?;
    // A kernel that does not know the advice has small pages only.
    let _ = mapping.advise(Advice::Small);
    Ok(mapping)
}
