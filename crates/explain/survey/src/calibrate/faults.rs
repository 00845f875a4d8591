//! Minor faults, and forking with the copies that it causes.

use std::io;

use sys::clock::sleep_until_ns;
use sys::memory::{Advice, Mapping};
use sys::process::{end, fork_child};

use super::{CPU, Measured, PIECE_PAGES, cost, each_ns, page_bytes, refused, small_pages};

const TOUCHED_BYTES: usize = 8 << 20;
/// Memory of the process that forks, in bytes.
const HELD_BYTES: usize = 16 << 20;
const FORKS: usize = 9;

pub(super) fn first_touch() -> Measured {
    cost(touched_by_pieces(&small_pages(TOUCHED_BYTES)?))
}

/// Mapping a present page of shared memory by a write: a read maps its neighbours too.
pub(super) fn map_page() -> Measured {
    let mapping = Mapping::shared(TOUCHED_BYTES).map_err(refused("map shared memory"))?;
    let _ = mapping.advise(Advice::Small);
    mapping.touch(page_bytes(), 1);
    mapping.give_back(0..TOUCHED_BYTES).map_err(refused("give memory back"))?;
    cost(touched_by_pieces(&mapping))
}

/// The time per touched page in ns, for each batch.
fn touched_by_pieces(mapping: &Mapping) -> Vec<f64> {
    let pages = mapping.size_bytes() / page_bytes();
    let piece = |first| {
        let offsets = (first..first + PIECE_PAGES).map(|page| page * page_bytes());
        each_ns(CPU, PIECE_PAGES, || mapping.write_each(offsets, 1)).0
    };
    (0..pages).step_by(PIECE_PAGES).map(piece).collect()
}

/// A fork, per page that the process holds: the extra time with these pages.
pub(super) fn fork_page() -> Measured {
    let forks = || {
        let all = (0..FORKS).map(|_| {
            let (taken_ns, child) = each_ns(CPU, 1, sleeper);
            end([child?]).map(|()| taken_ns)
        });
        all.collect::<io::Result<Vec<f64>>>().map_err(refused("fork"))
    };
    let without = cost(forks()?)?;
    let held = small_pages(HELD_BYTES)?;
    held.touch(page_bytes(), 1);
    let pages = (HELD_BYTES / page_bytes()) as f64;
    let each = forks()?.into_iter().map(|ns| (ns - without.ns) / pages);
    let mut measured = cost(each.collect())?;
    measured.least_ns = measured.least_ns.max(0.0);
    if measured.ns <= 0.0 {
        return Err("a fork with pages takes no longer than one without".to_owned());
    }
    Ok(measured)
}

pub(super) fn copy_on_write() -> Measured {
    let held = small_pages(HELD_BYTES)?;
    held.touch(page_bytes(), 1);
    let child = sleeper().map_err(refused("fork"))?;
    let each = touched_by_pieces(&held);
    end([child]).map_err(refused("end a child"))?;
    cost(each)
}

/// A child that shares the memory of this process and sleeps.
fn sleeper() -> io::Result<u32> {
    fork_child(|| {
        loop {
            sleep_until_ns(u64::MAX >> 1);
        }
    })
}
