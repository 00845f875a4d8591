//! References to memory without locality, through small pages and through huge ones.

use sys::memory::{Advice, Mapping};

use super::{CPU, Measured, cost, each_ns, refused};
use doctor::UnitCost;

/// Memory of a chain in bytes: much more than any TLB covers with small pages.
const CHAIN_BYTES: usize = 64 << 20;
/// A cache line in bytes: each holds one pointer.
const LINE_BYTES: usize = 64;
/// Minimum share of huge pages in huge memory: its ends may be in shared regions.
const HUGE_SHARE: f64 = 0.75;
/// Pointers of one batch, and the number of batches.
const PIECE_POINTERS: u64 = 8192;
const PIECES: usize = 60;

/// What small pages add to the cost of a reference, and its cost through huge pages.
pub(super) fn small_and_huge() -> [Measured; 2] {
    let huge = reference(Advice::Huge);
    let extra = huge.clone().and_then(|huge| {
        let small = reference(Advice::Small)?;
        let ns = (small.ns - huge.ns).max(0.0);
        Ok(UnitCost { ns, least_ns: (small.least_ns - huge.ns).clamp(0.0, ns), ..small })
    });
    [extra, huge]
}

/// Whether a mapping has the requested pages: the kernel may refuse huge ones.
fn has_pages(mapping: &Mapping, advice: Advice) -> Result<(), String> {
    let path = "/proc/self/smaps";
    let text = std::fs::read_to_string(path).map_err(refused(&format!("read {path}")))?;
    let mappings = counters::parse::smaps(&text).map_err(|error| format!("{path}: {error}"))?;
    let start = sys::pagemap::address(mapping);
    let end = start + mapping.size_bytes() as u64;
    let parts = mappings.iter().filter(|part| part.start < end && start < part.end);
    let huge_kb: u64 = parts.filter_map(|part| part.values.get("AnonHugePages_kb")).sum();
    let share = huge_kb as f64 * 1024.0 / mapping.size_bytes() as f64;
    match advice {
        Advice::Huge if share < HUGE_SHARE => Err(format!(
            "no huge pages to compare with: of the memory advised to use them, {:.0} % is in huge pages \
             (/sys/kernel/mm/transparent_hugepage/enabled)",
            100.0 * share
        )),
        Advice::Small if share > 0.0 => {
            Err(format!("no small pages to compare with: {:.0} % is in huge pages", 100.0 * share))
        }
        _ => Ok(()),
    }
}

/// The cost of following a pointer through pages of a kind.
fn reference(advice: Advice) -> Measured {
    let mapping = Mapping::anonymous(CHAIN_BYTES).map_err(refused("map memory"))?;
    match (mapping.advise(advice), advice) {
        // A kernel without huge pages has small ones anyway.
        (Err(error), Advice::Huge) => return Err(format!("ask for huge pages: {error}")),
        _ => mapping.link(LINE_BYTES, 0),
    }
    has_pages(&mapping, advice)?;
    let mut at = 0;
    let piece = |_| {
        let follow = || at = mapping.follow(at, PIECE_POINTERS);
        each_ns(CPU, PIECE_POINTERS as usize, follow).0
    };
    cost((0..PIECES).map(piece).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_huge_pages_their_cost_is_missed_whatever_the_kernel_allows() {
        rustix::thread::disable_transparent_huge_pages(true).unwrap();
        for missed in small_and_huge() {
            assert!(missed.unwrap_err().contains("0 % is in huge pages"));
        }
    }
}
