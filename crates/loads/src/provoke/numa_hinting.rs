//! `provoke-numa-hinting`: memory on another node is touched all the time, so that the kernel takes
//! its pages away to see from where they are used, and moves them.

use std::convert::Infallible;
use std::{fs, io};

use sys::memory::Mapping;
use sys::numa::Placement;
use sys::pages::Advice;

use super::{OPERATIONS, TOTALS, counted, dose, page_bytes};
use crate::desc::{
    Desc, Plan, Progress, Setting, Unsupported, Work, WorkError, nothing_to_finish,
    nothing_to_prepare, scaled,
};

/// Where the system lists its nodes that have memory, as `0-1`.
const NODES: &str = "/sys/devices/system/node/has_memory";
/// Share of memory that is touched.
const TOUCHED: f64 = 0.4;
/// The kernel looks at a process for the first time when it has run for a second or two
/// (`numa_balancing_scan_delay_ms`, `scan_period_min_ms`), and has moved what it will after that.
const WARM_NS: u64 = 1_000_000_000;

pub(crate) const LOAD: Desc = Desc {
    name: "provoke-numa-hinting",
    version: 1,
    about: "touch memory that the kernel wants on another node (at 0 it may not move)",
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
    let pages = scaled(setting.memory_bytes, TOUCHED) / page_bytes() as u64;
    let params = [
        ("touched_bytes".to_owned(), pages.max(1) * page_bytes() as u64),
        (
            "balanced_bytes".to_owned(),
            scaled(pages.max(1), setting.intensity.min(1.0)) * page_bytes() as u64,
        ),
    ];
    Ok(Plan { workers: 1, params: params.into(), notes: Vec::new() })
}

fn work(work: &Work<'_>) -> Result<Infallible, WorkError> {
    let [touched, balanced] =
        ["touched_bytes", "balanced_bytes"].map(|name| work.plan.param(name) as usize);
    let node = other_node().map_err(|error| WorkError::new(&format!("read {NODES}"), &error))?;
    let memory = far_memory(touched, balanced, node)
        .map_err(|error| WorkError::new(&format!("place memory on node {node}"), &error))?;
    let pages = (touched / page_bytes()) as u64;
    loop {
        counted(work, pages, || memory.touch(page_bytes(), 1));
    }
}

/// The last node that has memory, if it is not the first.
fn other_node() -> io::Result<u32> {
    let listed = fs::read_to_string(NODES)?;
    let last = listed.trim().rsplit([',', '-']).next().and_then(|last| last.parse().ok());
    last.filter(|last| *last > 0)
        .ok_or_else(|| io::Error::other(format!("{:?}: there is one node", listed.trim())))
}

/// Memory on a node, of which the first part is the kernel's to move.
fn far_memory(touched: usize, balanced: usize, node: u32) -> io::Result<Mapping> {
    let memory = Mapping::anonymous(touched)?;
    // A kernel that does not know the advice has small pages only.
    let _ = memory.advise(Advice::Small);
    memory.place(0..touched, Placement::Prefer(node))?;
    memory.touch(page_bytes(), 1);
    memory.place(0..balanced, Placement::OfProcess)?;
    memory.place(balanced..touched, Placement::Local)?;
    Ok(memory)
}

fn warm(progress: &Progress<'_>) -> bool {
    progress.elapsed_ns >= WARM_NS && progress.total_since_start(OPERATIONS) > 0
}
