//! `exhaust-leak`: one process that grows at a rate and never touches what it has again.

use super::{Offenders, exhaustion, fill_half, grow, hold, keep, planned, random_of, without_end};
use crate::{Endless, Plan, Setting, Worker, Workload, scaled};

/// Share of memory that it takes per second at an intensity of 1.
const SHARE_PER_S: f64 = 0.125;

pub(crate) const LOAD: Workload = Workload {
    name: "exhaust-leak",
    about: "one process takes an eighth of memory per second until it is killed",
    ..exhaustion(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let bytes_per_s = scaled(setting.memory_bytes, SHARE_PER_S * setting.intensity).max(1);
    let size_bytes = without_end(setting);
    planned(setting, Offenders { at_once: 1, most: 1, size_bytes, bytes_per_s })
}

fn work(worker: &Worker<'_>) -> Endless {
    keep(worker, &|worker, number| {
        let mut random = random_of(worker, number);
        let size_bytes = worker.plan.param("offender_bytes");
        let _held = grow(worker, size_bytes, &mut |mapping| fill_half(mapping, &mut random))?;
        hold()
    })
}
