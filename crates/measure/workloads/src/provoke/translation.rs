//! `provoke-translation`: a chain of pointers without locality through small or huge pages.

use sys::memory::{Advice, Mapping};

use super::{HUGE_BYTES, OPERATIONS, counted, provocation};
use crate::{Endless, Plan, Setting, Worker, Workload, at, scaled};

const CHAIN_BYTES: u64 = 64 << 20;
/// A cache line in bytes: each holds one pointer.
const LINE_BYTES: usize = 64;
const BATCH: u64 = 4096;
const WARM_POINTERS: u64 = 1 << 20;

pub(crate) const LOAD: Workload = Workload {
    name: "provoke-translation",
    about: "a random chain through 64 MiB of small pages (at 0 of huge ones)",
    is_warm: |progress| progress.since_start(OPERATIONS) >= WARM_POINTERS,
    ..provocation(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    setting.needs_memory(CHAIN_BYTES + CHAIN_BYTES / 2)?;
    let small_huge_pages = scaled(CHAIN_BYTES / HUGE_BYTES, setting.intensity.min(1.0));
    Ok(Plan::new(1, [("chain_bytes", CHAIN_BYTES), ("small_bytes", small_huge_pages * HUGE_BYTES)]))
}

fn work(worker: &Worker<'_>) -> Endless {
    let (chain_bytes, small_bytes) =
        (worker.plan.param("chain_bytes") as usize, worker.plan.param("small_bytes") as usize);
    let mapping = Mapping::anonymous(chain_bytes).map_err(at("map memory"))?;
    let advised = mapping
        .advise_part(0..small_bytes, Advice::Small)
        .and_then(|()| mapping.advise_part(small_bytes..chain_bytes, Advice::Huge));
    advised.map_err(at("ask for huge pages"))?;
    mapping.link(LINE_BYTES, worker.setting.seed);
    let mut at = 0;
    loop {
        at = counted(worker, BATCH, || mapping.follow(at, BATCH));
    }
}
