//! Faults that need no device: first touches and maps.

use sys::memory::{Advice, Mapping};

use super::{Measured, PIECE_PAGES, cost, each_cpu_ns, page_bytes, refused};

/// Memory that is touched, in bytes.
const TOUCHED_BYTES: usize = 8 << 20;

/// The first touch of anonymous memory.
pub(super) fn first_touch() -> Measured {
    let mapping = Mapping::anonymous(TOUCHED_BYTES).map_err(refused("map memory"))?;
    // A kernel that does not know the advice has small pages only.
    let _ = mapping.advise(Advice::Small);
    cost(touched_by_pieces(&mapping))
}

/// Mapping a page that is there: the pages of shared memory stay when they are given back. Writes,
/// because a fault by reading maps what lies beside as well.
pub(super) fn map_page() -> Measured {
    let mapping = Mapping::shared(TOUCHED_BYTES).map_err(refused("map shared memory"))?;
    let _ = mapping.advise(Advice::Small);
    mapping.touch(page_bytes(), 1);
    mapping.give_back(0..TOUCHED_BYTES).map_err(refused("give memory back"))?;
    cost(touched_by_pieces(&mapping))
}

/// The time of touching a page, in ns, for each piece of the mapping.
pub(super) fn touched_by_pieces(mapping: &Mapping) -> Vec<f64> {
    let pages = mapping.size_bytes() / page_bytes();
    (0..pages)
        .step_by(PIECE_PAGES)
        .map(|first| {
            let offsets = (first..first + PIECE_PAGES).map(|page| page * page_bytes());
            each_cpu_ns(PIECE_PAGES, || mapping.write_each(offsets, 1))
        })
        .collect()
}
