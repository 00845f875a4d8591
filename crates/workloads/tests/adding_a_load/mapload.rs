//! `mapload`: one process maps, touches and unmaps memory, over and over.

use std::convert::Infallible;

use sys::clock::monotonic_ns;
use sys::memory::Mapping;

use crate::load::{Load, Worker};
use crate::param::Param;
use crate::setting::{Plan, Setting, WorkloadError, at, page_bytes, scaled};
use crate::workload::{Steady, Work, Workload};

/// Memory that is mapped at an intensity of 1, in bytes.
const MAP_BYTES: u64 = 1 << 20;
/// Loops after which the load is warm.
const WARM_LOOPS: u64 = 100;

const LOOPS: usize = 0;
const BUSY_NS: usize = 1;

pub(crate) const LOAD: Workload = Workload {
    name: "mapload",
    version: 1,
    about: "map, touch and unmap 1 MiB, over and over",
    params: &[Param::resolved("map_bytes")],
    measures: &["loops", "busy_ns"],
    dose_unit: "busy_ns",
    steady: Steady::When(|progress| progress.since_start(LOOPS) >= WARM_LOOPS),
    // Intended: a loop under way all the time.
    ..Workload::new(Work::Load(Load::new(plan, work, |progress| progress.busy(1, BUSY_NS))))
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let map_bytes = scaled(MAP_BYTES, setting.intensity).max(page_bytes() as u64);
    setting.needs_memory(2 * map_bytes)?;
    Ok(Plan::new(1, [("map_bytes", map_bytes)]))
}

fn work(worker: &Worker<'_>) -> Result<Infallible, WorkloadError> {
    let map_bytes = worker.plan.param("map_bytes") as usize;
    loop {
        let start_ns = monotonic_ns();
        let mapping = Mapping::anonymous(map_bytes).map_err(at("map memory"))?;
        mapping.touch(page_bytes(), 1);
        drop(mapping);
        worker.add(LOOPS, 1);
        worker.add(BUSY_NS, monotonic_ns() - start_ns);
    }
}
