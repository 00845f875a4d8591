//! `provoke-lock-contention`: page faults of a thread while another one has the lock of their address
//! space.

use std::convert::Infallible;
use std::io;

use sys::memory::Mapping;

use super::pinned::{cpus, pin};
use super::{OPERATIONS, counted, provocation};
use crate::{Endless, Plan, Setting, Worker, Workload, at, page_bytes};

/// Memory whose protection changes, as a share of all: the lock is held for as long as that takes.
const HELD: f64 = 0.25;
const PAGES: u64 = 64;
const CHANGE: &str = "change the protection of memory";
const WARM_OPERATIONS: u64 = 10 * PAGES;

pub(crate) const LOAD: Workload = Workload {
    name: "provoke-lock-contention",
    about: "fault pages in while a thread changes the same address space (at 0 another one)",
    is_warm: |progress| progress.since_start(OPERATIONS) >= WARM_OPERATIONS,
    ..provocation(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let is_shared = setting.intensity > 0.0;
    let held_bytes = setting.pages_of_memory(HELD).max(1) * page_bytes() as u64;
    let params =
        [("threads", 1 + u64::from(is_shared)), ("pages", PAGES), ("held_bytes", held_bytes)];
    Ok(Plan::new(if is_shared { 1 } else { 2 }, params))
}

/// The first worker faults pages in; next to it a thread, or the second worker, changes memory.
fn work(worker: &Worker<'_>) -> Endless {
    let held_bytes = worker.plan.param("held_bytes") as usize;
    let cpus = cpus().map_err(at("read the CPUs"))?;
    let own = cpus.clone();
    let change = move || -> io::Result<Infallible> {
        pin(&cpus, 1);
        let held = Mapping::small_pages(held_bytes)?;
        held.touch(page_bytes(), 1);
        loop {
            held.protect(0..held_bytes, false)?;
            held.protect(0..held_bytes, true)?;
        }
    };
    if worker.number > 0 {
        return change().map_err(at(CHANGE));
    }
    let mut thread = match worker.plan.param("threads") {
        1 => None,
        _ => Some(std::thread::Builder::new().spawn(change).map_err(at("start a thread"))?),
    };
    pin(&own, 0);
    let size_bytes = worker.plan.param("pages") as usize * page_bytes();
    let faulted = Mapping::small_pages(size_bytes).map_err(at("map memory"))?;
    loop {
        if let Some(ended) = thread.take_if(|thread| thread.is_finished()) {
            let ended = ended.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            return ended.map_err(at(CHANGE));
        }
        counted(worker, PAGES, || {
            faulted.touch(page_bytes(), 1);
            faulted.give_back(0..size_bytes)
        })
        .map_err(at("free memory"))?;
    }
}
