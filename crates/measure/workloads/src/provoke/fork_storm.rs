//! `provoke-fork-storm`: a large process forks and keeps writing, which copies its pages.

use std::io;

use sys::clock::{monotonic_ns, sleep_until_ns};
use sys::memory::Mapping;
use sys::process::{end, fork_child};

use super::{counted, has_passed, provocation};
use crate::{Endless, Plan, Setting, Worker, Workload, at, page_bytes};

const RESIDENT_BYTES: u64 = 64 << 20;
/// Time from one fork to the next at an intensity of 1, in ns.
const FORK_EVERY_NS: f64 = 100e6;
const WARM_PASSES: u64 = 20;

pub(crate) const LOAD: Workload = Workload {
    name: "provoke-fork-storm",
    about: "a process of 64 MiB forks every 100 ms and keeps writing (at 0 it never forks)",
    is_warm: |progress| has_passed(progress, "resident_bytes", WARM_PASSES),
    ..provocation(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    setting.needs_memory(3 * RESIDENT_BYTES)?;
    let every_ns = if setting.intensity > 0.0 { FORK_EVERY_NS / setting.intensity } else { 0.0 };
    Ok(Plan::new(1, [("resident_bytes", RESIDENT_BYTES), ("fork_every_ns", every_ns as u64)]))
}

fn work(worker: &Worker<'_>) -> Endless {
    let failed = |error| at("fork and write")(error);
    let resident_bytes = worker.plan.param("resident_bytes") as usize;
    let mapping = Mapping::small_pages(resident_bytes).map_err(failed)?;
    mapping.touch(page_bytes(), 1);
    let pages = (mapping.size_bytes() / page_bytes()) as u64;
    let every_ns = worker.plan.param("fork_every_ns");
    let mut fork_at_ns = monotonic_ns();
    loop {
        let pass = || {
            if every_ns == 0 || monotonic_ns() < fork_at_ns {
                mapping.touch(page_bytes(), 1);
                return Ok(());
            }
            fork_at_ns = monotonic_ns() + every_ns;
            beside_a_copy(|| mapping.touch(page_bytes(), 1))
        };
        counted(worker, pages, pass).map_err(failed)?;
    }
}

/// Calls `act` while an idle child shares all pages copy-on-write.
fn beside_a_copy(act: impl FnOnce()) -> io::Result<()> {
    let child = fork_child(|| {
        loop {
            sleep_until_ns(u64::MAX >> 1);
        }
    })?;
    act();
    end([child])
}
