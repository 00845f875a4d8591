//! `provoke-shootdown`: a thread changes the protection of a page again and again, while another
//! one of the same process runs, whose CPU has to be interrupted each time.

use std::convert::Infallible;
use std::hint::spin_loop;
use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use sys::memory::Mapping;

use super::{OPERATIONS, TOTALS, counted, dose, page_bytes};
use crate::desc::{
    Desc, Plan, Progress, Setting, Unsupported, Work, WorkError, nothing_to_finish,
    nothing_to_prepare, scaled,
};

/// Pages whose protection is changed, one after the other.
const PAGES: u64 = 64;
/// Operations after which the load is warm.
const WARM_OPERATIONS: u64 = 10_000;

pub(crate) const LOAD: Desc = Desc {
    name: "provoke-shootdown",
    version: 1,
    about: "protect a page beside a thread that runs (at 0 there is no other thread)",
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
    let others = scaled(1, setting.intensity);
    if others >= setting.cpus() && others > 0 {
        return Err(Unsupported(format!(
            "{} threads need as many CPUs at once; there are {}",
            others + 1,
            setting.cpus()
        )));
    }
    let params = [("other_threads".to_owned(), others), ("pages".to_owned(), PAGES)];
    Ok(Plan { workers: 1, params: params.into(), notes: Vec::new() })
}

fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let pages = work.plan.param("pages") as usize;
    let mapping = Mapping::anonymous(pages * page_bytes())
        .map_err(|error| WorkError::new("map memory", &error))?;
    mapping.touch(page_bytes(), 1);
    let cpus = cpus().map_err(|error| WorkError::new("read the CPUs", &error))?;
    pin(&cpus, 0);
    for other in 1..=work.plan.param("other_threads") as usize {
        let cpus = cpus.clone();
        std::thread::Builder::new()
            .spawn(move || -> Infallible {
                pin(&cpus, other);
                loop {
                    spin_loop();
                }
            })
            .map_err(|error| WorkError::new("start a thread", &error))?;
    }
    loop {
        let change = || {
            (0..pages).try_for_each(|page| {
                let range = page * page_bytes()..(page + 1) * page_bytes();
                mapping.protect(range.clone(), false)?;
                mapping.protect(range.clone(), true)?;
                mapping.write(range.start, 1);
                Ok(())
            })
        };
        counted(work, pages as u64, change)
            .map_err(|error| WorkError::new("protect a page", &error))?;
    }
}

/// The CPUs that this process may use.
fn cpus() -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect())
}

/// Keeps a thread on a CPU of its own: two on one CPU have nothing to tell each other. Where that
/// is refused, the scheduler decides.
fn pin(cpus: &[usize], number: usize) {
    let mut own = CpuSet::new();
    cpus.get(number).into_iter().for_each(|cpu| own.set(*cpu));
    let _ = sched_setaffinity(None, &own);
}

fn warm(progress: &Progress<'_>) -> bool {
    progress.total_since_start(OPERATIONS) >= WARM_OPERATIONS
}
