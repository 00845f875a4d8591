//! The threads of a process that ran, and their time: the denominator of its losses.

use crate::interval::Change;

/// Run time of each thread, in ns.
const RUN: &str = "thread_run_ns";
const WAIT: &str = "thread_wait_ns";

/// Threads and their total time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Threads {
    pub(crate) count: u64,
    /// In ns: the interval of each, less its waits for a CPU, which are not lost to other causes.
    pub(crate) had_ns: f64,
}

impl Threads {
    /// The threads of a process that ran in an interval, at least one; all of them if single
    /// threads are unknown (older recordings, sums over processes).
    pub(crate) fn awake(change: &Change<'_>) -> Self {
        let elapsed_ns = change.elapsed_ns as f64;
        let one = |run_ns, wait_ns: Option<f64>| had_ns(elapsed_ns, run_ns, wait_ns.unwrap_or(0.0));
        let first =
            || one(change.grown("schedstat", "run_ns"), change.grown("schedstat", "wait_ns"));
        if change.has(RUN) {
            let ran = change.grown_each(RUN).filter(|(_, run_ns)| *run_ns > 0.0);
            let had = ran.map(|(thread, ns)| one(Some(ns), change.grown(WAIT, thread)));
            let sum = had.fold(Self::default(), |sum, had_ns| Self {
                count: sum.count + 1,
                had_ns: sum.had_ns + had_ns,
            });
            let idle = Self { count: 1, had_ns: elapsed_ns.max(1.0) };
            return if sum.count == 0 { idle } else { sum };
        }
        match all_threads(change) {
            1 => Self { count: 1, had_ns: first() },
            // The scheduler's figures are those of the first thread, or of one of each process.
            count => Self { count, had_ns: count as f64 * elapsed_ns.max(1.0) },
        }
    }
}

/// All threads of a process; of a sum over processes, their number.
pub(crate) fn all_threads(change: &Change<'_>) -> u64 {
    let stat = || change.level_any("task_stat", &["tasks", "threads"]);
    let known = change.level("taskstats", "tasks").or_else(stat);
    known.or_else(|| change.level("task_status", "Threads")).unwrap_or(1.0).max(1.0) as u64
}

/// The time of a thread, in ns.
fn had_ns(elapsed_ns: f64, run_ns: Option<f64>, wait_ns: f64) -> f64 {
    let left_ns = elapsed_ns - wait_ns;
    // The kernel counts a wait at its end, so it may have begun before the interval: a thread that
    // waits most of the time had only its run time.
    let ran_ns = run_ns.filter(|_| wait_ns > (elapsed_ns / 2.0).floor());
    ran_ns.map_or(left_ns, |ran_ns| ran_ns.min(elapsed_ns)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Second;

    fn of(second: &Second) -> Threads {
        let interval = second.interval();
        Threads::awake(&interval.tasks().next().unwrap().counters)
    }

    #[test]
    fn threads_that_ran_are_counted_and_those_that_slept_are_not() {
        let pool = Second::bare()
            .task_level("task_stat", "threads", 64)
            .task("thread_run_ns", "11", 300_000_000)
            .task("thread_run_ns", "12", 100)
            .task("thread_run_ns", "13", 0)
            .task("thread_wait_ns", "11", 400_000_000);
        assert_eq!(of(&pool), Threads { count: 2, had_ns: 1.6e9 });
        let asleep = Second::bare().task("thread_run_ns", "13", 0);
        assert_eq!(of(&asleep), Threads { count: 1, had_ns: 1e9 });
    }

    #[test]
    fn where_single_threads_are_not_told_all_of_them_count() {
        let old = Second::bare().task_level("task_stat", "threads", 64);
        assert_eq!(of(&old), Threads { count: 64, had_ns: 64e9 });
        let sum = old.task_level("taskstats", "tasks", 3);
        assert_eq!(of(&sum).count, 3, "the delays are those of one thread of each");
    }

    #[test]
    fn who_waits_most_of_the_time_had_what_it_ran() {
        assert_eq!(had_ns(1000.0, Some(50.0), 500.0), 500.0);
        assert_eq!(had_ns(1000.0, Some(50.0), 800.0), 50.0);
        assert_eq!(had_ns(1000.0, None, 800.0), 200.0);
        assert_eq!(had_ns(1000.0, Some(300.0), 1200.0), 300.0, "part of the wait was before");
    }
}
