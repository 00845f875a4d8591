//! `provoke-shootdown`: changes of page protection, each of which interrupts another CPU.

use std::convert::Infallible;
use std::hint::spin_loop;

use sys::memory::Mapping;

use super::pinned::{cpus, pin};
use super::{OPERATIONS, counted, provocation};
use crate::{Endless, Plan, Setting, Worker, Workload, at, page_bytes, scaled};

const PAGES: u64 = 64;
const WARM_OPERATIONS: u64 = 10_000;

pub(crate) const LOAD: Workload = Workload {
    name: "provoke-shootdown",
    about: "change a page's protection while another thread runs (at 0 there is none)",
    is_warm: |progress| progress.since_start(OPERATIONS) >= WARM_OPERATIONS,
    ..provocation(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let others = scaled(1, setting.intensity);
    let (needed, cpus) = (others + 1, setting.cpus());
    if needed > cpus && others > 0 {
        return Err(format!("{needed} threads need as many CPUs at once; this machine has {cpus}"));
    }
    Ok(Plan::new(1, [("other_threads", others), ("pages", PAGES)]))
}

fn work(worker: &Worker<'_>) -> Endless {
    let pages = worker.plan.param("pages") as usize;
    let mapping = Mapping::anonymous(pages * page_bytes()).map_err(at("map memory"))?;
    mapping.touch(page_bytes(), 1);
    let cpus = cpus().map_err(at("read the CPUs"))?;
    pin(&cpus, 0);
    for other in 1..=worker.plan.param("other_threads") as usize {
        let cpus = cpus.clone();
        std::thread::Builder::new()
            .spawn(move || -> Infallible {
                pin(&cpus, other);
                loop {
                    spin_loop();
                }
            })
            .map_err(at("start a thread"))?;
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
        counted(worker, pages as u64, change).map_err(at("protect a page"))?;
    }
}
