//! Forking, and the copies that follow it.

use std::io;

use sys::clock::sleep_until_ns;
use sys::memory::{Advice, Mapping};
use sys::process::{fork_child, signal, signals, wait};

use super::faults::touched_by_pieces;
use super::{Measured, cost, each_cpu_ns, page_bytes, refused};

/// Memory of the process that forks, in bytes.
const HELD_BYTES: usize = 16 << 20;
/// How often it forks.
const FORKS: usize = 9;

/// A fork, for each page that the process holds: what it takes longer with them than without.
pub(super) fn fork_page() -> Measured {
    let without = (0..FORKS).map(|_| fork_ns()).collect::<io::Result<_>>();
    let without = cost(without.map_err(refused("fork"))?)?;
    let _mapping = held().map_err(refused("map memory"))?;
    let with = (0..FORKS).map(|_| fork_ns()).collect::<io::Result<Vec<f64>>>();
    let pages = (HELD_BYTES / page_bytes()) as f64;
    let each = with.map_err(refused("fork"))?.into_iter();
    let mut measured = cost(each.map(|ns| (ns - without.ns) / pages).collect())?;
    measured.least_ns = measured.least_ns.max(0.0);
    if measured.ns <= 0.0 {
        return Err("a fork with pages takes no longer than one without".to_owned());
    }
    Ok(measured)
}

/// Copying a page at the first write after a fork.
pub(super) fn copy_on_write() -> Measured {
    let mapping = held().map_err(refused("map memory"))?;
    let child = sleeper().map_err(refused("fork"))?;
    let each = touched_by_pieces(&mapping);
    end(child).map_err(refused("end a child"))?;
    cost(each)
}

/// Memory of small pages that are all there.
fn held() -> io::Result<Mapping> {
    let mapping = Mapping::anonymous(HELD_BYTES)?;
    // A kernel that does not know the advice has small pages only.
    let _ = mapping.advise(Advice::Small);
    mapping.touch(page_bytes(), 1);
    Ok(mapping)
}

/// The time of one fork in ns.
fn fork_ns() -> io::Result<f64> {
    let mut child = Ok(0);
    let taken_ns = each_cpu_ns(1, || child = sleeper());
    end(child?)?;
    Ok(taken_ns)
}

/// A child that holds what this process holds, and sleeps.
fn sleeper() -> io::Result<u32> {
    fork_child(|| {
        loop {
            sleep_until_ns(u64::MAX >> 1);
        }
    })
}

fn end(child: u32) -> io::Result<()> {
    signal(child, signals::KILL)?;
    wait(child, true).map(|_| ())
}
