//! `provoke-minor-faults`: memory is mapped, touched and given back, over and over, as an
//! allocator does that returns what is freed at once.

use std::convert::Infallible;
use std::io;

use model::units::format_size;
use sys::memory::Mapping;
use sys::pages::Advice;

use super::{OPERATIONS, TOTALS, Turns, counted, dose, page_bytes, percent};
use crate::desc::{
    Desc, Plan, Progress, Setting, Unsupported, Work, WorkError, nothing_to_finish,
    nothing_to_prepare,
};

/// Memory that is mapped, in bytes.
const MAP_BYTES: u64 = 16 << 20;
/// Passes after which the load is warm.
const WARM_PASSES: u64 = 10;

pub(crate) const LOAD: Desc = Desc {
    name: "provoke-minor-faults",
    version: 1,
    about: "map, touch and unmap 16 MiB (at 0 touch what stays mapped)",
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
    if MAP_BYTES > setting.memory_bytes / 2 {
        let half = format_size(setting.memory_bytes / 2);
        return Err(Unsupported(format!("{} is more than {half}", format_size(MAP_BYTES))));
    }
    let params = [
        ("map_bytes".to_owned(), MAP_BYTES),
        ("unmapped_percent".to_owned(), percent(setting.intensity)),
    ];
    Ok(Plan { workers: 1, params: params.into(), notes: Vec::new() })
}

fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let map_bytes = work.plan.param("map_bytes") as usize;
    let failed = |error| WorkError::new("map memory", &error);
    let pages = (map_bytes / page_bytes()) as u64;
    let mut turns = Turns::new(work.plan.param("unmapped_percent"));
    let mut mapping = mapped(map_bytes).map_err(failed)?;
    loop {
        let pass = || -> io::Result<Mapping> {
            let next = if turns.next() { mapped(map_bytes)? } else { mapping };
            next.touch(page_bytes(), 1);
            Ok(next)
        };
        mapping = counted(work, pages, pass).map_err(failed)?;
    }
}

/// Memory of small pages, whatever the system gives otherwise.
fn mapped(map_bytes: usize) -> io::Result<Mapping> {
    let mapping = Mapping::anonymous(map_bytes)?;
    // A kernel that does not know the advice has small pages only.
    let _ = mapping.advise(Advice::Small);
    Ok(mapping)
}

fn warm(progress: &Progress<'_>) -> bool {
    let pages = progress.plan.param("map_bytes") / page_bytes() as u64;
    progress.total_since_start(OPERATIONS) >= WARM_PASSES * pages
}
