//! `provoke-numa-hinting`: memory on another node is touched, which the kernel unmaps and moves.

use std::path::Path;
use std::{fs, io};

use rustix::thread::sched_getcpu;
use sys::memory::{Mapping, Placement};

use super::{OPERATIONS, counted, pinned, provocation};
use crate::{Endless, Plan, Setting, Worker, Workload, at, page_bytes, scaled};

/// The nodes with memory, such as `0-1`.
const NODES: &str = "/sys/devices/system/node/has_memory";
const TOUCHED: f64 = 0.4;
/// The kernel first scans a process after a second or two (`numa_balancing_scan_delay_ms`).
const WARM_NS: u64 = 1_000_000_000;

pub(crate) const LOAD: Workload = Workload {
    name: "provoke-numa-hinting",
    version: 2,
    about: "touch memory that the kernel wants on another node (at 0 it may not move)",
    is_warm: |progress| progress.elapsed_ns >= WARM_NS && progress.since_start(OPERATIONS) > 0,
    ..provocation(plan, work)
};

fn plan(setting: &Setting) -> Result<Plan, String> {
    let pages = setting.pages_of_memory(TOUCHED).max(1);
    let balanced = scaled(pages, setting.intensity.min(1.0));
    let bytes = |pages| pages * page_bytes() as u64;
    Ok(Plan::new(1, [("touched_bytes", bytes(pages)), ("balanced_bytes", bytes(balanced))]))
}

fn work(worker: &Worker<'_>) -> Endless {
    let [touched, balanced] =
        ["touched_bytes", "balanced_bytes"].map(|name| worker.plan.param(name) as usize);
    // Else the kernel may move the process to its memory instead.
    pinned::pin(&pinned::cpus().map_err(at("read the CPUs"))?, 0);
    let node = other_node().map_err(at(format!("read {NODES}")))?;
    let memory =
        far_memory(touched, balanced, node).map_err(at(format!("place memory on node {node}")))?;
    let pages = (touched / page_bytes()) as u64;
    loop {
        counted(worker, pages, || memory.touch(page_bytes(), 1));
    }
}

/// The first or last node that has memory, and not this CPU: the last, if both are others.
fn other_node() -> io::Result<u32> {
    let listed = fs::read_to_string(NODES)?;
    let cpu = format!("/sys/devices/system/cpu/cpu{}", sched_getcpu());
    let is_here = |node: &u32| Path::new(&cpu).join(format!("node{node}")).exists();
    let mut nodes = listed.trim().split([',', '-']).filter_map(|node| node.parse().ok());
    nodes
        .rfind(|node| !is_here(node))
        .ok_or_else(|| io::Error::other(format!("{:?}: there is one node", listed.trim())))
}

/// Memory on a node, of which the kernel may move the first `balanced` bytes.
fn far_memory(touched: usize, balanced: usize, node: u32) -> io::Result<Mapping> {
    let memory = Mapping::small_pages(touched)?;
    memory.place(0..touched, Placement::Prefer(node))?;
    memory.touch(page_bytes(), 1);
    memory.place(0..balanced, Placement::OfProcess)?;
    memory.place(balanced..touched, Placement::Local)?;
    Ok(memory)
}
