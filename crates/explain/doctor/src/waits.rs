//! What threads waited for, and for which pages: measured delays, divided by disk traffic.
//!
//! Delays come from delay accounting (`taskstats`,
//! `Documentation/accounting/delay-accounting.rst`); an ordinary user sees only waits for block
//! I/O, in `/proc/PID/stat`. Where no task has them, major faults have a price each, or the
//! pressure stall totals are a lower bound (`Documentation/accounting/psi.rst`).

use crate::affected::{losses, sum};
use crate::interval::{Change, Interval, TICK_NS, Task};
use crate::lost_time::NOTE_SHARE;
use crate::threads::all_threads;
use crate::{LostTime, Price};

/// The kernel's largest read-ahead for one fault, in bytes (`VM_READAHEAD_PAGES`).
const READAHEAD_BYTES: f64 = 131_072.0;

/// What the price of waits requires.
pub(crate) const NO_DELAYS: &str =
    "this needs the delays of threads (as root, with sysctl kernel.task_delayacct=1)";

impl Change<'_> {
    /// A task whose delays are counted.
    pub(crate) fn with_delays(self) -> Option<Self> {
        (self.has("taskstats") || self.block_ticks().is_some()).then_some(self)
    }

    /// Whether the task waited longer than its threads existed: kernels since 6.12 at times count
    /// the end of a wait whose start they missed (`delayacct_blkio_end`), as if since boot.
    pub(crate) fn has_impossible_delays(&self) -> bool {
        let most_ns = 2.0 * all_threads(self) as f64 * self.elapsed_ns as f64;
        ["blkio", "swapin", "freepages"].iter().any(|name| self.delay_ns(name) > most_ns)
    }

    /// The delay `name` (`blkio`, `swapin`, `freepages`, `compact`, …) in ns; 0 if not counted.
    pub(crate) fn delay_ns(&self, name: &str) -> f64 {
        let counted = self.grown("taskstats", &format!("{name}_delay_total_ns"));
        let ticks = || self.block_ticks().filter(|_| name == "blkio");
        counted.or_else(|| ticks().map(|ticks| ticks * TICK_NS)).unwrap_or(0.0)
    }

    /// Whether it is a thread of the kernel, which has no memory of its own.
    pub(crate) fn is_kernel_thread(&self) -> bool {
        self.has("task_status") && self.level("task_status", "VmSize_kb").is_none()
    }

    /// Ticks of block I/O waits of all threads; `None` if only those of one of several are known.
    fn block_ticks(&self) -> Option<f64> {
        let by_thread = "thread_blkio_ticks";
        if self.has(by_thread) {
            let most = (self.elapsed_ns as f64 / TICK_NS).ceil() + 1.0;
            let each = self.grown_each(by_thread).map(|(_, ticks)| ticks);
            return Some(each.filter(|ticks| *ticks <= most).sum());
        }
        let is_single = self.level("task_stat", "threads") == Some(1.0);
        is_single.then(|| self.grown("task_stat", "blkio_delay_ticks")).flatten()
    }
}

/// The loss of all tasks (of a group), by a formula over their delays; `None` without delays.
pub(crate) fn lost_of_tasks(
    interval: &Interval<'_>,
    group: Option<&str>,
    formula: impl Fn(&Change<'_>) -> f64,
) -> Option<LostTime> {
    let mut is_damaged = false;
    let lost = lost_of_each(interval, group, |change| {
        let delays = change.with_delays()?;
        let is_impossible = delays.has_impossible_delays();
        is_damaged |= is_impossible;
        (!is_impossible).then(|| formula(&delays))
    });
    // If one task is unknown, a small loss of the others shows little.
    lost.filter(|lost| !is_damaged || lost.lost_share >= NOTE_SHARE)
}

/// The loss of each task (of a group) in ns, without kernel threads, for which others wait.
fn lost_of_each(
    interval: &Interval<'_>,
    group: Option<&str>,
    mut figure: impl FnMut(&Change<'_>) -> Option<f64>,
) -> Option<LostTime> {
    let losses = losses(interval, |Task { group: own, counters, .. }| {
        let is_meant = (group.is_none() || *own == group) && !counters.is_kernel_thread();
        is_meant.then(|| figure(counters)).flatten()
    });
    losses.map(|losses| sum(&losses))
}

/// Waits for pages that are read again or written.
pub(crate) struct Waits<'a> {
    /// The group whose tasks waited; `None`: all tasks.
    pub(crate) group: Option<&'a str>,
    /// Pages read again by major faults, and the measured cost of one in ns.
    pub(crate) reads: Option<(f64, Option<f64>)>,
    /// The pressure stall total that counts these waits, and their share of it (0 to 1).
    pub(crate) pressure: (&'a str, f64),
}

impl Waits<'_> {
    /// The price by the delays of tasks, else by major faults, else unknown with pressure as a
    /// bound.
    pub(crate) fn price(
        &self,
        interval: &Interval<'_>,
        traffic: &Traffic,
        formula: impl Fn(&Change<'_>) -> f64,
    ) -> Price {
        if let Some(lost) = lost_of_tasks(interval, self.group, formula) {
            return Price::Known(lost);
        }
        let (total, share) = self.pressure;
        let all = interval.machine().pressure("psi", total);
        let pressure =
            all.map(|lost| LostTime::of_wall(lost.lost_ns as f64 * share, lost.lost_of_ns));
        match self.by_major_faults(interval, traffic) {
            // Otherwise threads waited longer than faults explain: `read` causes no fault.
            Some(lost) if pressure.is_none_or(|least| least.lost_ns <= lost.lost_ns) => {
                Price::Known(lost)
            }
            _ => Price::unknown(NO_DELAYS, pressure),
        }
    }

    /// The price by the major faults of tasks, each of which reads once, if they explain the pages.
    fn by_major_faults(&self, interval: &Interval<'_>, traffic: &Traffic) -> Option<LostTime> {
        let (pages, Some(fault_ns)) = self.reads? else { return None };
        let pages_of_one = (READAHEAD_BYTES / interval.page_bytes() as f64).max(1.0);
        if pages > interval.vmstat("pgmajfault")? * pages_of_one {
            return None;
        }
        let share = traffic.share_of_reads(pages);
        lost_of_each(interval, self.group, |counters| {
            Some(counters.grown("task_stat", "majflt")? * share * fault_ns)
        })
    }
}

/// The machine's disk traffic in pages, and its evicted pages that were read again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Traffic {
    pub(crate) read: f64,
    pub(crate) written: f64,
    pub(crate) swapped_in: f64,
    pub(crate) swapped_out: f64,
    /// Evicted file pages that were read again.
    pub(crate) file_refaults: f64,
    /// Evicted anonymous pages that were read again; before Linux 5.9, all pages swapped in.
    pub(crate) anon_refaults: f64,
}

impl Traffic {
    /// The increase of the `vmstat` counters; `None` if unavailable.
    pub(crate) fn in_interval(interval: &Interval<'_>) -> Option<Self> {
        let machine = interval.machine();
        let grown = |names: &[&str]| machine.grown_any("vmstat", names);
        let swapped_in = grown(&["pswpin"]).unwrap_or(0.0);
        let file_refaults = grown(&["workingset_refault_file", "workingset_refault"])?;
        // Both count KiB.
        let page_kb = interval.page_bytes() as f64 / 1024.0;
        Some(Self {
            // A refault from compressed memory is not block I/O.
            read: (grown(&["pgpgin"])? / page_kb).max(swapped_in),
            written: grown(&["pgpgout"])? / page_kb,
            swapped_in,
            swapped_out: grown(&["pswpout"]).unwrap_or(0.0),
            file_refaults,
            anon_refaults: grown(&["workingset_refault_anon"]).unwrap_or(swapped_in),
        })
    }

    /// Share of the waits for reading that is due to these pages, 0 to 1.
    pub(crate) fn share_of_reads(&self, pages: f64) -> f64 {
        if self.read > 0.0 { (pages / self.read).min(1.0) } else { 0.0 }
    }

    /// Share of anonymous pages among those read again, 0 to 1; 0 if there are none.
    pub(crate) fn anon_share(&self) -> f64 {
        let all = self.anon_refaults + self.file_refaults;
        if all > 0.0 { self.anon_refaults / all } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Denominator;
    use crate::sample::{GROUP, Second};

    const MS: u64 = 1_000_000;

    /// What a process has lost by waiting for block I/O, in a second.
    fn lost(second: &Second) -> LostTime {
        lost_of_tasks(&second.interval(), None, |task| task.delay_ns("blkio")).unwrap()
    }

    #[test]
    fn of_64_threads_that_wait_a_tenth_of_their_time_a_tenth_is_lost() {
        let mut many = Second::bare().task_level("task_stat", "threads", 64).task(
            "taskstats",
            "blkio_delay_total_ns",
            6400 * MS,
        );
        let expected = LostTime::of_threads(6.4e9, 64, 64e9);
        assert_eq!((lost(&many), expected.lost_share), (expected, 0.1));
        for thread in 0..64 {
            many = many.task("thread_run_ns", &thread.to_string(), MS);
        }
        assert_eq!(lost(&many), expected);
        // One thread of a pool of 64 works, and it is the one that waits.
        let pool = Second::bare()
            .task_level("task_stat", "threads", 64)
            .task("taskstats", "blkio_delay_total_ns", 500 * MS)
            .task("thread_run_ns", "8", MS)
            .task("thread_run_ns", "9", 0);
        assert_eq!(lost(&pool), LostTime::of_threads(5e8, 1, 1e9));
    }

    #[test]
    fn more_than_there_is_cannot_be_lost_and_less_than_a_note_is_nobodys() {
        let of = |ns| Second::bare().task("taskstats", "blkio_delay_total_ns", ns);
        assert_eq!(lost(&of(1500 * MS)).lost_share, 1.0);
        // A thread that waits since boot, all of it within a second.
        let since_boot = of(5_687_000 * MS);
        let interval = since_boot.interval();
        assert_eq!(lost_of_tasks(&interval, None, |task| task.delay_ns("blkio")), None);
        assert_eq!(lost(&of(9 * MS)).lost_of, Denominator::Threads(0));
        assert_eq!(lost(&of(9 * MS)).lost_share, 0.0);
    }

    #[test]
    fn what_a_user_may_read_stands_in_for_taskstats() {
        let ticks = |threads| {
            Second::bare().task_level("task_stat", "threads", threads).task(
                "task_stat",
                "blkio_delay_ticks",
                50,
            )
        };
        assert_eq!(lost(&ticks(1)), LostTime::of_threads(5e8, 1, 1e9));
        // The ticks of a process are those of its first thread.
        let interval = ticks(2);
        assert_eq!(lost_of_tasks(&interval.interval(), None, |task| task.delay_ns("blkio")), None);
        let both = ticks(2).task("thread_blkio_ticks", "5", 50).task("thread_blkio_ticks", "6", 50);
        assert_eq!(lost(&both), LostTime::of_threads(1e9, 2, 2e9));
    }

    #[test]
    fn a_thread_of_the_kernel_loses_nothing() {
        let made = Second::bare().task("taskstats", "blkio_delay_total_ns", 900 * MS);
        let status = made.task_level("task_status", "Threads", 1);
        let interval = status.interval();
        assert_eq!(lost_of_tasks(&interval, None, |task| task.delay_ns("blkio")), None);
        let program = status.clone().task_level("task_status", "VmSize_kb", 4096);
        assert_eq!(lost(&program).lost_ns, 900_000_000);
    }

    #[test]
    fn tasks_of_other_groups_are_left_out() {
        let made = Second::bare().task("taskstats", "blkio_delay_total_ns", 500 * MS);
        let interval = made.interval();
        let of = |group| lost_of_tasks(&interval, group, |task| task.delay_ns("blkio"));
        assert_eq!(of(None), of(Some(GROUP)));
        assert_eq!(of(Some("other")), None, "nobody has delays");
    }

    #[test]
    fn traffic_needs_its_counters_and_the_size_of_a_page() {
        let made = Second::bare().machine("vmstat", "pgpgin", 40).machine("vmstat", "pgpgout", 8);
        assert_eq!(Traffic::in_interval(&made.interval()), None);
        let known = made.machine("vmstat", "workingset_refault", 5).machine("vmstat", "pswpin", 5);
        let traffic = Traffic::in_interval(&known.interval()).unwrap();
        assert_eq!((traffic.read, traffic.written, traffic.file_refaults), (10.0, 2.0, 5.0));
        assert_eq!((traffic.share_of_reads(5.0), traffic.anon_share()), (0.5, 0.5));
        assert_eq!(traffic.share_of_reads(50.0), 1.0);
        let large = known.machine("vmstat", "pgpgin", 640).with_page_bytes(65536);
        assert_eq!(Traffic::in_interval(&large.interval()).unwrap().read, 10.0);
    }
}
