//! `exhaust-burst`: processes that take memory as fast as they can, as `tail /dev/zero` does. What
//! they hold is zeros, which compress to nothing.

use super::{Offenders, exhaustion, grow, hold, keep, planned, processes, without_end};
use crate::{Endless, Plan, Setting, Worker, Workload, page_bytes};

pub(crate) const LOAD: Workload = Workload {
    name: "exhaust-burst",
    about: "one process takes memory as fast as it can: tail /dev/zero",
    ..exhaustion(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let at_once = processes(setting, 1.0);
    let size_bytes = without_end(setting);
    planned(setting, Offenders { at_once, most: at_once, size_bytes, bytes_per_s: 0 })
}

fn work(worker: &Worker<'_>) -> Endless {
    keep(worker, &|worker, _| {
        let size_bytes = worker.plan.param("offender_bytes");
        let _held = grow(worker, size_bytes, &mut |mapping| mapping.touch(page_bytes(), 0))?;
        hold()
    })
}
