//! `provoke-swap-thrash`: random touches of anonymous memory that is larger than memory, so that
//! most of what is swapped out comes back.

use std::convert::Infallible;

use model::units::format_size;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use sys::memory::Mapping;

use super::{OPERATIONS, TOTALS, counted, dose, page_bytes};
use crate::desc::{
    Desc, Plan, Progress, Setting, Unsupported, Work, WorkError, nothing_to_finish,
    nothing_to_prepare, scaled,
};

/// Size of the memory for memory of 1 at an intensity of 0, which fits.
const FITS: f64 = 0.5;
/// What an intensity of 1 adds: 150 % of memory does not fit.
const MORE: f64 = 1.0;
/// Touches that are counted together.
const BATCH: u64 = 16;
/// The load is warm after so many touches at random: all pages were touched in order before, so
/// none of them is cold.
const WARM_TOUCHES: u64 = 64;

pub(crate) const LOAD: Desc = Desc {
    name: "provoke-swap-thrash",
    version: 1,
    about: "random touches of anonymous memory of 150 % of memory (at 0 of 50 %)",
    totals: TOTALS,
    dose_unit: "busy_ns",
    plan,
    prepare: nothing_to_prepare,
    work,
    warm,
    dose,
    finish: nothing_to_finish,
};

fn plan(setting: &Setting) -> Result<Plan, Unsupported> {
    let pages = scaled(setting.memory_bytes, FITS + MORE * setting.intensity) / page_bytes() as u64;
    let map_bytes = pages.max(1) * page_bytes() as u64;
    // Others may have to be swapped out too: an eighth of memory is left to them.
    let swapped_bytes = map_bytes.saturating_sub(setting.memory_bytes * 7 / 8);
    if swapped_bytes > setting.swap_bytes {
        return Err(Unsupported(format!(
            "{} of it must be swapped out, and there is swap space of {}",
            format_size(swapped_bytes),
            format_size(setting.swap_bytes)
        )));
    }
    Ok(Plan { workers: 1, params: [("map_bytes".to_owned(), map_bytes)].into(), notes: vec![] })
}

fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let map_bytes = work.plan.param("map_bytes") as usize;
    let mapping =
        Mapping::anonymous(map_bytes).map_err(|error| WorkError::new("map memory", &error))?;
    mapping.touch(page_bytes(), 1);
    let mut random = Pcg64Mcg::seed_from_u64(work.setting.seed);
    let page = page_bytes();
    let pages = map_bytes / page;
    loop {
        let offsets = (0..BATCH).map(|_| random.random_range(0..pages) * page);
        counted(work, BATCH, || mapping.write_each(offsets, 2));
    }
}

fn warm(progress: &Progress<'_>) -> bool {
    progress.total_since_start(OPERATIONS) >= WARM_TOUCHES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_space_must_hold_what_does_not_fit() {
        let setting = |swap_bytes, intensity| Setting {
            memory_bytes: 64 << 20,
            cpus_milli: 1000,
            swap_bytes,
            work_dir: "/".into(),
            free_disk_bytes: 0,
            queue_key: 0,
            seed: 1,
            intensity,
        };
        assert_eq!(plan(&setting(40 << 20, 1.0)).unwrap().param("map_bytes"), 96 << 20);
        assert!(plan(&setting(39 << 20, 1.0)).unwrap_err().0.contains("40M"));
        assert_eq!(plan(&setting(0, 0.0)).unwrap().param("map_bytes"), 32 << 20);
    }
}
