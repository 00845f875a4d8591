//! Pure work on several cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What `make` makes of each number below `count`, in their order, on at most `jobs` threads: the
/// same as one after the other, if it is a pure function.
pub fn in_parallel<T: Send>(count: usize, jobs: usize, make: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return made;
            }
            made.push((index, make(index)));
        }
    };
    let mut all: Vec<(usize, T)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.clamp(1, count.max(1))).map(|_| scope.spawn(work)).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, Vec<(usize, T)>>| match worker.join() {
            Ok(made) => made,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        workers.into_iter().flat_map(join).collect()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, made)| made).collect()
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
