//! `provoke-translation`: a chain of pointers without locality through small pages, or through
//! huge ones.

use std::convert::Infallible;

use model::units::format_size;
use sys::memory::Mapping;
use sys::pages::Advice;

use super::{OPERATIONS, TOTALS, counted, dose};
use crate::desc::{
    Desc, Plan, Progress, Setting, Unsupported, Work, WorkError, nothing_to_finish,
    nothing_to_prepare, scaled,
};

/// Memory of the chain, in bytes.
const CHAIN_BYTES: u64 = 64 << 20;
/// A huge page, in bytes: advice is given on multiples of it.
const HUGE_BYTES: u64 = 2 << 20;
/// A cache line in bytes: a pointer stands in each.
const LINE_BYTES: usize = 64;
/// Pointers that are counted together.
const BATCH: u64 = 4096;
/// Pointers after which the load is warm.
const WARM_POINTERS: u64 = 1 << 20;

pub(crate) const LOAD: Desc = Desc {
    name: "provoke-translation",
    version: 1,
    about: "a random chain through 64 MiB of small pages (at 0 of huge ones)",
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
    if CHAIN_BYTES + CHAIN_BYTES / 2 > setting.memory_bytes {
        let needed = format_size(CHAIN_BYTES + CHAIN_BYTES / 2);
        return Err(Unsupported(format!("it needs memory of {needed}")));
    }
    let small_huge_pages = scaled(CHAIN_BYTES / HUGE_BYTES, setting.intensity.min(1.0));
    let params = [
        ("chain_bytes".to_owned(), CHAIN_BYTES),
        ("small_bytes".to_owned(), small_huge_pages * HUGE_BYTES),
    ];
    Ok(Plan { workers: 1, params: params.into(), notes: Vec::new() })
}

fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let (chain_bytes, small_bytes) =
        (work.plan.param("chain_bytes") as usize, work.plan.param("small_bytes") as usize);
    let mapping =
        Mapping::anonymous(chain_bytes).map_err(|error| WorkError::new("map memory", &error))?;
    let advised = mapping
        .advise_part(0..small_bytes, Advice::Small)
        .and_then(|()| mapping.advise_part(small_bytes..chain_bytes, Advice::Huge));
    advised.map_err(|error| WorkError::new("ask for huge pages", &error))?;
    mapping.link(LINE_BYTES, work.setting.seed);
    let mut at = 0;
    loop {
        at = counted(work, BATCH, || mapping.follow(at, BATCH));
    }
}

fn warm(progress: &Progress<'_>) -> bool {
    progress.total_since_start(OPERATIONS) >= WARM_POINTERS
}
