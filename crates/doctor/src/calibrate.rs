//! The unit costs of this machine, measured with bounded work: about a second, 64 MiB of memory
//! and a file of 4 MiB.
//!
//! Every operation is repeated in pieces, and its cost is the median of the pieces: a piece that
//! was interrupted by somebody else does not count.

mod copies;
mod faults;
mod major_faults;
mod references;
mod shootdown;
mod switches;

use std::path::Path;

use rustix::time::{ClockId, clock_gettime};
use sys::clock::monotonic_ns;

use crate::{Operation, UnitCost, UnitCosts};

/// Bytes of a small page: mappings are asked for small pages.
const PAGE_BYTES: usize = 4096;
/// Pages of one piece.
const PIECE_PAGES: usize = 64;

/// A cost, or why it was not measured.
type Measured = Result<UnitCost, String>;

/// Measures what operations cost on this machine. `work_dir` is a directory on the disk of
/// interest; a file is made there and removed. Once `stop` says so, no other operation is begun.
///
/// The costs of forking, copying and switching need a process with a single thread; in others
/// these are missed, as is what the machine cannot do, each with its reason.
#[must_use]
pub fn calibrate(work_dir: &Path, stop: &dyn Fn() -> bool) -> UnitCosts {
    let mut costs = UnitCosts::default();
    for operation in Operation::ALL {
        if costs.costs.contains_key(&operation) || costs.missed.contains_key(&operation) {
            continue;
        }
        if stop() {
            costs.missed.insert(operation, "it was stopped before its turn".to_owned());
            continue;
        }
        for (operation, measured) in measure(operation, work_dir) {
            match measured {
                Ok(cost) => drop(costs.costs.insert(operation, cost)),
                Err(reason) => drop(costs.missed.insert(operation, reason)),
            }
        }
    }
    costs
}

/// Measures one operation, and those that come with it.
fn measure(operation: Operation, work_dir: &Path) -> Vec<(Operation, Measured)> {
    let measured = match operation {
        Operation::FirstTouch => faults::first_touch(),
        Operation::MapPage => faults::map_page(),
        Operation::FileRefault => major_faults::file_refault(work_dir),
        Operation::SwapIn => major_faults::swap_in(),
        Operation::ContextSwitch => switches::context_switch(),
        Operation::TlbShootdown => shootdown::tlb_shootdown(),
        Operation::ForkPage => copies::fork_page(),
        Operation::CopyOnWrite => copies::copy_on_write(),
        Operation::SmallPageReference | Operation::HugePageReference => {
            let (small, huge) = references::small_and_huge();
            return vec![
                (Operation::SmallPageReference, small),
                (Operation::HugePageReference, huge),
            ];
        }
    };
    vec![(operation, measured)]
}

/// The cost of one from the times of pieces, in ns each; there is at least one.
fn cost(mut each_ns: Vec<f64>) -> Measured {
    each_ns.sort_by(f64::total_cmp);
    let (Some(least_ns), Some(ns)) = (each_ns.first(), each_ns.get(each_ns.len() / 2)) else {
        return Err("there was no time for a single one".to_owned());
    };
    Ok(UnitCost { ns: *ns, least_ns: *least_ns, repetitions: each_ns.len() as u32 })
}

/// The time of an act for each of `count`, in ns.
fn each_ns(count: usize, act: impl FnOnce()) -> f64 {
    let start_ns = monotonic_ns();
    act();
    (monotonic_ns() - start_ns) as f64 / count as f64
}

/// The CPU time of an act for each of `count`, in ns: the same on a busy machine, for what waits for
/// nothing.
fn each_cpu_ns(count: usize, act: impl FnOnce()) -> f64 {
    let start = clock_gettime(ClockId::ThreadCPUTime);
    act();
    let end = clock_gettime(ClockId::ThreadCPUTime);
    let taken_ns = (end.tv_sec - start.tv_sec) * 1_000_000_000 + end.tv_nsec - start.tv_nsec;
    taken_ns as f64 / count as f64
}

/// A step that the system refused.
fn refused(step: &str) -> impl Fn(std::io::Error) -> String {
    move |error| format!("{step}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_measured_or_missed_with_a_reason() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let costs = calibrate(dir.path(), &|| false);
        for operation in Operation::ALL {
            match (costs.costs.get(&operation), costs.missed.get(&operation)) {
                (Some(cost), None) => {
                    assert!(cost.repetitions > 0, "{operation:?}");
                    // A tax may be nothing; everything else takes its time.
                    let least_ns =
                        if operation == Operation::SmallPageReference { 0.0 } else { 0.1 };
                    assert!(cost.ns >= least_ns, "{operation:?}: {cost:?}");
                    assert!(cost.least_ns <= cost.ns, "{operation:?}: {cost:?}");
                }
                (None, Some(reason)) => assert!(!reason.is_empty()),
                other => panic!("{operation:?}: {other:?}"),
            }
        }
        // Tests run in threads, where nothing forks.
        assert!(costs.missed[&Operation::ForkPage].contains("thread"));
        assert!(costs.costs.contains_key(&Operation::FirstTouch));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn what_is_stopped_is_missed() {
        let costs = calibrate(Path::new("/nonexistent"), &|| true);
        assert!(costs.costs.is_empty());
        assert_eq!(costs.missed.len(), Operation::ALL.len());
    }

    #[test]
    fn a_cost_is_the_median() {
        let measured = cost(vec![9.0, 1.0, 2.0]).unwrap();
        assert_eq!((measured.ns, measured.least_ns, measured.repetitions), (2.0, 1.0, 3));
        assert!(cost(Vec::new()).is_err());
    }
}
