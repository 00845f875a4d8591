//! The unit costs of this machine: medians over batches, in a second, with 64 MiB and a 4 MiB file.

mod faults;
mod major_faults;
mod references;
mod shootdown;
mod switches;

use std::collections::BTreeMap;
use std::path::PathBuf;

use sys::memory::Mapping;

use doctor::{Operation, UnitCost, UnitCosts};

use crate::timed::{CPU, each_ns};

const PIECE_PAGES: usize = 64;

/// A cost, or why it was not measured.
type Measured = Result<UnitCost, String>;

/// Adds the costs that are not `known`, or the reason why one is missing. A file is created, and
/// removed, in the first of `dirs` whose reads can be measured. Once `stop` is true, no other
/// operation begins. Forking, copying and switching need a process with a single thread.
pub(crate) fn calibrate(known: UnitCosts, dirs: &[PathBuf], stop: &dyn Fn() -> bool) -> UnitCosts {
    let mut costs = UnitCosts { missed: BTreeMap::new(), ..known };
    // Operations that need a thread come last: a process with threads must not fork.
    let (with_thread, others): (Vec<Operation>, Vec<Operation>) =
        Operation::ALL.iter().partition(|it| **it == Operation::TlbShootdown);
    for operation in others.into_iter().chain(with_thread) {
        if costs.costs.contains_key(&operation) || costs.missed.contains_key(&operation) {
            continue;
        }
        if stop() {
            costs.missed.insert(operation, "it was stopped before its turn".to_owned());
            continue;
        }
        for (operation, measured) in measure(operation, dirs) {
            match measured {
                Ok(cost) => drop(costs.costs.insert(operation, cost)),
                Err(reason) => drop(costs.missed.insert(operation, reason)),
            }
        }
    }
    costs
}

/// Measures one operation, and those measured with it.
fn measure(operation: Operation, work_dirs: &[PathBuf]) -> Vec<(Operation, Measured)> {
    let measured = match operation {
        Operation::FirstTouch => faults::first_touch(),
        Operation::MapPage => faults::map_page(),
        Operation::FileRefault => major_faults::file_refault(work_dirs),
        Operation::SwapIn => major_faults::swap_in(),
        Operation::ContextSwitch => switches::context_switch(),
        Operation::TlbShootdown => shootdown::tlb_shootdown(),
        Operation::ForkPage => faults::fork_page(),
        Operation::CopyOnWrite => faults::copy_on_write(),
        Operation::SmallPageReference | Operation::HugePageReference => {
            let kinds = [Operation::SmallPageReference, Operation::HugePageReference];
            return kinds.into_iter().zip(references::small_and_huge()).collect();
        }
    };
    vec![(operation, measured)]
}

/// The cost from the times of batches, in ns.
fn cost(mut each_ns: Vec<f64>) -> Measured {
    each_ns.sort_by(f64::total_cmp);
    let (Some(least_ns), Some(ns)) = (each_ns.first(), each_ns.get(each_ns.len() / 2)) else {
        return Err("there was no time for a single one".to_owned());
    };
    Ok(UnitCost { ns: *ns, least_ns: *least_ns, repetitions: each_ns.len() as u32 })
}

fn small_pages(size_bytes: usize) -> Result<Mapping, String> {
    Mapping::small_pages(size_bytes).map_err(refused("map memory"))
}

/// Bytes of a small page.
fn page_bytes() -> usize {
    sys::pagemap::page_bytes() as usize
}

/// The message of a refused step.
fn refused(step: &str) -> impl Fn(std::io::Error) -> String {
    move |error| format!("{step}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_measured_or_missed_with_a_reason() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        // Where nobody can write, the next directory stands in.
        let dirs = [PathBuf::from("/proc"), dir.path().to_owned()];
        let costs = calibrate(UnitCosts::default(), &dirs, &|| false);
        assert!(costs.missed.get(&Operation::FileRefault).is_none_or(|why| !why.contains("make ")));
        for operation in Operation::ALL.iter().copied() {
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
        let costs = calibrate(UnitCosts::default(), &[PathBuf::from("/nonexistent")], &|| true);
        assert!(costs.costs.is_empty());
        assert_eq!(costs.missed.len(), Operation::ALL.len());
    }

    #[test]
    fn what_is_known_is_not_measured_again_and_what_was_missed_is() {
        let cost = UnitCost { ns: 1000.0, least_ns: 1000.0, repetitions: 1 };
        let costs = Operation::ALL.iter().map(|operation| (*operation, cost)).collect();
        let known = UnitCosts { costs, ..UnitCosts::default() };
        assert_eq!(calibrate(known.clone(), &[], &|| false), known);
        let mut gap = known.clone();
        gap.costs.remove(&Operation::FirstTouch);
        gap.missed.insert(Operation::FirstTouch, "once".to_owned());
        let filled = calibrate(gap, &[], &|| false);
        assert!(filled.missed.is_empty() && filled.costs.len() == known.costs.len());
        assert_ne!(filled, known);
    }

    #[test]
    fn a_cost_is_the_median() {
        let measured = cost(vec![9.0, 1.0, 2.0]).unwrap();
        assert_eq!((measured.ns, measured.least_ns, measured.repetitions), (2.0, 1.0, 3));
        assert!(cost(Vec::new()).is_err());
    }
}
