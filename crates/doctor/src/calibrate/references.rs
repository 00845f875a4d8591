//! References to memory without locality, through small pages and through huge ones.

use sys::memory::Mapping;
use sys::pages::Advice;

use super::{Measured, cost, each_cpu_ns, refused};
use crate::UnitCost;

/// Memory of a chain in bytes: much more than any TLB reaches with small pages.
const CHAIN_BYTES: usize = 64 << 20;
/// A cache line in bytes: a pointer stands in each.
const LINE_BYTES: usize = 64;
/// Pointers of one piece, and how many pieces there are.
const PIECE_POINTERS: u64 = 8192;
const PIECES: usize = 60;

/// What a reference through small pages costs more than one through huge pages, and what that one
/// costs.
pub(super) fn small_and_huge() -> (Measured, Measured) {
    let small = reference(Advice::Small);
    let huge = huge_pages().and_then(|()| reference(Advice::Huge));
    let extra = small.and_then(|small| {
        let huge =
            huge.clone().map_err(|_| "there are no huge pages to compare with".to_owned())?;
        Ok(UnitCost {
            ns: (small.ns - huge.ns).max(0.0),
            least_ns: (small.least_ns - huge.ns).clamp(0.0, (small.ns - huge.ns).max(0.0)),
            repetitions: small.repetitions,
        })
    });
    (extra, huge)
}

/// Whether memory gets transparent huge pages when it asks for them.
fn huge_pages() -> Result<(), String> {
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    let text = std::fs::read_to_string(path).map_err(refused(&format!("read {path}")))?;
    if text.contains("[never]") {
        return Err(format!("transparent huge pages are switched off: {path} is {}", text.trim()));
    }
    Ok(())
}

/// Following a pointer through pages of a kind.
fn reference(advice: Advice) -> Measured {
    let mapping = Mapping::anonymous(CHAIN_BYTES).map_err(refused("map memory"))?;
    match (mapping.advise(advice), advice) {
        // A kernel without huge pages has small ones anyway.
        (Err(error), Advice::Huge) => return Err(format!("ask for huge pages: {error}")),
        _ => mapping.link(LINE_BYTES, 0),
    }
    let mut at = 0;
    let mut each = Vec::with_capacity(PIECES);
    for _ in 0..PIECES {
        each.push(each_cpu_ns(PIECE_POINTERS as usize, || at = mapping.follow(at, PIECE_POINTERS)));
    }
    cost(each)
}
