//! `provoke-page-tables`: many processes share memory, and each maps it anew again and again, as
//! the short connections of a database do.

use std::convert::Infallible;

use model::units::format_size;
use sys::memory::Mapping;
use sys::process::{fork_child, wait_any};

use super::{BUSY_NS, OPERATIONS, TOTALS, Turns, counted, page_bytes, percent};
use crate::desc::{
    Desc, Dose, Plan, Progress, Setting, Unsupported, Work, WorkError, nothing_to_finish,
    nothing_to_prepare,
};

/// Memory that all processes share, in bytes.
const SHARED_BYTES: u64 = 16 << 20;
/// How many processes share it.
const PROCESSES: u64 = 32;
/// Passes of each process after which the load is warm.
const WARM_PASSES: u64 = 1;

pub(crate) const LOAD: Desc = Desc {
    name: "provoke-page-tables",
    version: 1,
    about: "32 processes map 16 MiB of shared memory page by page (at 0 they keep it mapped)",
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
    if 2 * SHARED_BYTES > setting.memory_bytes {
        let needed = format_size(2 * SHARED_BYTES);
        return Err(Unsupported(format!("it needs memory of {needed}")));
    }
    let params = [
        ("processes".to_owned(), PROCESSES),
        ("shared_bytes".to_owned(), SHARED_BYTES),
        ("mapped_anew_percent".to_owned(), percent(setting.intensity)),
    ];
    Ok(Plan { workers: 1, params: params.into(), notes: Vec::new() })
}

/// The worker has the memory and the processes; these die with it, and it with the agent.
fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let shared = Mapping::shared(work.plan.param("shared_bytes") as usize)
        .map_err(|error| WorkError::new("map shared memory", &error))?;
    shared.touch(page_bytes(), 1);
    for _ in 0..work.plan.param("processes") {
        fork_child(|| attend(work, &shared))
            .map_err(|error| WorkError::new("fork a process", &error))?;
    }
    let ended = wait_any(true);
    let error = ended.map_or_else(|error| error, |_| std::io::Error::other("a process has ended"));
    Err(WorkError::new("keep the processes", &error))
}

/// The work of one process: all pages, one after the other. Ends only by an error.
fn attend(work: &Work<'_>, shared: &Mapping) -> i32 {
    let pages = (shared.size_bytes() / page_bytes()) as u64;
    let mut turns = Turns::new(work.plan.param("mapped_anew_percent"));
    loop {
        let pass = || {
            let given_back =
                if turns.next() { shared.give_back(0..shared.size_bytes()) } else { Ok(()) };
            shared.touch(page_bytes(), 1);
            given_back
        };
        if counted(work, pages, pass).is_err() {
            return 1;
        }
    }
}

/// Intended: every process inside a pass all the time.
fn dose(progress: &Progress<'_>) -> Dose {
    let intended = progress.elapsed_ns * progress.plan.param("processes");
    Dose { intended, delivered: progress.total(BUSY_NS) }
}

fn warm(progress: &Progress<'_>) -> bool {
    let pages = progress.plan.param("shared_bytes") / page_bytes() as u64;
    let passes = WARM_PASSES * progress.plan.param("processes");
    progress.total_since_start(OPERATIONS) >= passes * pages
}
