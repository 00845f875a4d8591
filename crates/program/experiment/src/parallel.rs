//! Pure work on several cores.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The results of `make` for each number below `count`, in order, on at most `jobs` threads; equal
/// to sequential execution if it is a pure function.
pub fn in_parallel<T: Send>(count: usize, jobs: usize, make: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let made = make(index);
            all.lock().unwrap_or_else(PoisonError::into_inner).insert(index, made);
        }
    };
    thread::scope(|scope| {
        (0..jobs.clamp(1, count.max(1))).for_each(|_| drop(scope.spawn(work)));
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_numbers_on_any_number_of_threads() {
        let squares = |jobs| in_parallel(100, jobs, |number| number * number);
        let expected: Vec<usize> = (0..100).map(|number| number * number).collect();
        for jobs in [0, 1, 2, 7, 1000] {
            assert_eq!(squares(jobs), expected);
        }
        assert!(in_parallel(0, 4, |number| number).is_empty());
    }
}
