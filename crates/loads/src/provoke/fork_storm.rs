//! `provoke-fork-storm`: a process with much memory forks again and again and goes on writing, so
//! that its pages are copied, as a database does that forks to save itself.

use std::convert::Infallible;
use std::io;

use model::units::format_size;
use sys::clock::{monotonic_ns, sleep_until_ns};
use sys::memory::Mapping;
use sys::pages::Advice;
use sys::process::{fork_child, signal, signals, wait};

use super::{OPERATIONS, TOTALS, counted, dose, page_bytes};
use crate::desc::{
    Desc, Plan, Progress, Setting, Unsupported, Work, WorkError, nothing_to_finish,
    nothing_to_prepare,
};

/// Memory of the process, in bytes.
const RESIDENT_BYTES: u64 = 64 << 20;
/// Time from one fork to the next at an intensity of 1, in ns.
const FORK_EVERY_NS: f64 = 100e6;
/// Passes over the memory after which the load is warm.
const WARM_PASSES: u64 = 20;

pub(crate) const LOAD: Desc = Desc {
    name: "provoke-fork-storm",
    version: 1,
    about: "a process of 64 MiB forks every 100 ms and goes on writing (at 0 never)",
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
    // The copy is as large as the original.
    if 3 * RESIDENT_BYTES > setting.memory_bytes {
        let needed = format_size(3 * RESIDENT_BYTES);
        return Err(Unsupported(format!("it needs memory of {needed}")));
    }
    // Never is told by 0.
    let every_ns = if setting.intensity > 0.0 { FORK_EVERY_NS / setting.intensity } else { 0.0 };
    let params = [
        ("resident_bytes".to_owned(), RESIDENT_BYTES),
        ("fork_every_ns".to_owned(), every_ns as u64),
    ];
    Ok(Plan { workers: 1, params: params.into(), notes: Vec::new() })
}

fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let failed = |error| WorkError::new("fork and write", &error);
    let mapping = Mapping::anonymous(work.plan.param("resident_bytes") as usize).map_err(failed)?;
    // A kernel that does not know the advice has small pages only.
    let _ = mapping.advise(Advice::Small);
    mapping.touch(page_bytes(), 1);
    let pages = (mapping.size_bytes() / page_bytes()) as u64;
    let every_ns = work.plan.param("fork_every_ns");
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
        counted(work, pages, pass).map_err(failed)?;
    }
}

/// Forks a child that does nothing, and acts while it holds all pages as they were.
fn beside_a_copy(act: impl FnOnce()) -> io::Result<()> {
    let child = fork_child(|| {
        loop {
            sleep_until_ns(u64::MAX >> 1);
        }
    })?;
    act();
    signal(child, signals::KILL)?;
    wait(child, true).map(|_| ())
}

fn warm(progress: &Progress<'_>) -> bool {
    let pages = progress.plan.param("resident_bytes") / page_bytes() as u64;
    progress.total_since_start(OPERATIONS) >= WARM_PASSES * pages
}
