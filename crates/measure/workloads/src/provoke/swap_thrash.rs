//! `provoke-swap-thrash`: random touches of anonymous memory that is larger than memory.

use model::units::format_size;
use rand::RngExt;
use sys::memory::Mapping;

use super::{OPERATIONS, counted, provocation};
use crate::{Endless, Plan, Setting, Worker, Workload, at, page_bytes};

/// Size as a share of memory at an intensity of 0, which fits.
const FITS: f64 = 0.5;
/// Growth of that share at an intensity of 1: 150 % of memory does not fit.
const MORE: f64 = 1.0;
const BATCH: u64 = 16;
/// Warm after this many random touches: all pages were touched before.
const WARM_TOUCHES: u64 = 64;

pub(crate) const LOAD: Workload = Workload {
    name: "provoke-swap-thrash",
    about: "random touches of anonymous memory of 150 % of memory (at 0 of 50 %)",
    is_warm: |progress| progress.since_start(OPERATIONS) >= WARM_TOUCHES,
    ..provocation(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let pages = setting.pages_of_memory(FITS + MORE * setting.intensity);
    let map_bytes = pages.max(1) * page_bytes() as u64;
    // Other pages may be swapped out too, so they get an eighth of memory.
    let swapped_bytes = map_bytes.saturating_sub(setting.memory_bytes * 7 / 8);
    if swapped_bytes > setting.swap_bytes {
        let [needed, swap] = [swapped_bytes, setting.swap_bytes].map(format_size);
        return Err(format!("{needed} of it must be swapped out, and there is swap of {swap}"));
    }
    Ok(Plan::new(1, [("map_bytes", map_bytes)]))
}

fn work(worker: &Worker<'_>) -> Endless {
    let map_bytes = worker.plan.param("map_bytes") as usize;
    let mapping = Mapping::anonymous(map_bytes).map_err(at("map memory"))?;
    mapping.touch(page_bytes(), 1);
    let mut random = worker.random();
    let page = page_bytes();
    let pages = map_bytes / page;
    loop {
        let offsets = (0..BATCH).map(|_| random.random_range(0..pages) * page);
        counted(worker, BATCH, || mapping.write_each(offsets, 2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_space_must_hold_what_does_not_fit() {
        let setting = |swap_bytes, intensity| Setting {
            memory_bytes: 64 << 20,
            swap_bytes,
            intensity,
            ..Setting::default()
        };
        assert_eq!(plan(&setting(40 << 20, 1.0)).unwrap().param("map_bytes"), 96 << 20);
        assert!(plan(&setting(39 << 20, 1.0)).unwrap_err().contains("40M"));
        assert_eq!(plan(&setting(0, 0.0)).unwrap().param("map_bytes"), 32 << 20);
    }
}
