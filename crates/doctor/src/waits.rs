//! What threads have waited for, and how much of it is due to which pages: measured delays, where
//! they are there, divided by what the disk was asked for.
//!
//! A task's delays are those of delay accounting (`taskstats`,
//! `Documentation/accounting/delay-accounting.rst`); a user who may not read them sees the waits for
//! block I/O alone, in `/proc/PID/stat`. Where no task has them, major faults are priced one by one,
//! or the machine's pressure stall totals are a lower bound (`Documentation/accounting/psi.rst`):
//! the time in which at least one thread waited.

use crate::affected::{losses, sum};
use crate::finding::NOTE_SHARE;
use crate::interval::{Change, Interval, TICK_NS};
use crate::threads::all_threads;
use crate::{LostTime, Price};

/// What the kernel reads ahead for one fault, at most, in bytes (`VM_READAHEAD_PAGES`).
const READAHEAD_BYTES: f64 = 131_072.0;

/// What is missing where the price of waits is not known.
pub(crate) const NO_DELAYS: &str =
    "it takes the delays of threads (as root, with sysctl kernel.task_delayacct=1)";

/// The delays of one task in ns, as far as its kernel has them.
pub(crate) struct Delays<'a> {
    change: Change<'a>,
}

impl<'a> Delays<'a> {
    /// Those of a task; `None` if there are none.
    pub(crate) fn from_change(change: Change<'a>) -> Option<Self> {
        let delays = Self { change };
        (change.has("taskstats") || delays.block_ticks().is_some()).then_some(delays)
    }

    /// Whether the task waited for longer than all its threads were there. Kernels since 6.12 at
    /// times book the end of a wait whose beginning they did not see (`delayacct_blkio_end`), so that
    /// a thread that is new seems to have waited since boot.
    pub(crate) fn are_impossible(&self) -> bool {
        let most_ns = 2.0 * all_threads(&self.change) as f64 * self.change.elapsed_ns as f64;
        ["blkio", "swapin", "freepages"].iter().any(|name| self.ns(name) > most_ns)
    }

    /// Time of the delay `name` (`blkio`, `swapin`, `freepages`, `compact`, …) in ns; 0 if this
    /// kernel does not count it.
    pub(crate) fn ns(&self, name: &str) -> f64 {
        let counted = self.change.grown("taskstats", &format!("{name}_delay_total_ns"));
        let of_stat = || match name {
            "blkio" => self.block_ticks().map(|ticks| ticks * TICK_NS),
            _ => None,
        };
        counted.or_else(of_stat).unwrap_or(0.0)
    }

    /// Ticks of waiting for block I/O of all threads; of one of several it says too little.
    fn block_ticks(&self) -> Option<f64> {
        let by_thread = "thread_blkio_ticks";
        if self.change.has(by_thread) {
            let most = (self.change.elapsed_ns as f64 / TICK_NS).ceil() + 1.0;
            let each = self.change.grown_each(by_thread).map(|(_, ticks)| ticks);
            return Some(each.filter(|ticks| *ticks <= most).sum());
        }
        let is_single = self.change.level("task_stat", "threads") == Some(1.0);
        is_single.then(|| self.change.grown("task_stat", "blkio_delay_ticks")).flatten()
    }
}

/// What all tasks (of a group, if one is named) have lost, each by a formula over its delays; `None`
/// if no task has its delays.
pub(crate) fn lost_of_tasks(
    interval: &Interval<'_>,
    group: Option<&str>,
    formula: impl Fn(&Delays<'_>) -> f64,
) -> Option<LostTime> {
    let mut is_damaged = false;
    let lost = lost_of_each(interval, group, |change| {
        let delays = Delays::from_change(*change)?;
        let is_impossible = delays.are_impossible();
        is_damaged |= is_impossible;
        (!is_impossible).then(|| formula(&delays))
    });
    // That the others lost nothing says little where one is not known.
    lost.filter(|lost| !is_damaged || lost.lost_share >= NOTE_SHARE)
}

/// What tasks lost, each by a figure in ns, out of the time of those threads that are affected;
/// `None` if no task has the figure.
fn lost_of_each(
    interval: &Interval<'_>,
    group: Option<&str>,
    mut figure: impl FnMut(&Change<'_>) -> Option<f64>,
) -> Option<LostTime> {
    let losses = losses(interval, |task| {
        let is_meant = group.is_none() || task.group == group;
        // Threads of the kernel wait for the disk on behalf of others, who wait for them.
        let is_meant = is_meant && !is_kernel_thread(&task.counters);
        is_meant.then(|| figure(&task.counters)).flatten()
    });
    losses.map(|losses| sum(&losses))
}

/// Whether a task has no memory of its own.
fn is_kernel_thread(change: &Change<'_>) -> bool {
    change.has("task_status") && change.level("task_status", "VmSize_kb").is_none()
}

/// What reading pages again, or waiting for their writing, costs, and whom.
pub(crate) struct Waits<'a> {
    /// The group whose tasks waited; `None`: all tasks.
    pub(crate) group: Option<&'a str>,
    /// Pages that were read again, and the cost of a major fault that reads them, in ns, if it was
    /// measured. `None`: no fault waits.
    pub(crate) reads: Option<(f64, Option<f64>)>,
    /// The machine's pressure stall total that counts these waits, and how much of it is due to them
    /// (0 to 1).
    pub(crate) pressure: (&'a str, f64),
}

impl Waits<'_> {
    /// The price: the delays of tasks, by a formula; without them the major faults that waited;
    /// without a cost of those, unknown, but at least what pressure shows.
    pub(crate) fn price(
        &self,
        interval: &Interval<'_>,
        traffic: &Traffic,
        formula: impl Fn(&Delays<'_>) -> f64,
    ) -> Price {
        if let Some(lost) = lost_of_tasks(interval, self.group, formula) {
            return Price::Known(lost);
        }
        let (total, share) = self.pressure;
        let all = interval.machine().pressure("psi", total);
        let pressure =
            all.map(|lost| LostTime::of_wall(lost.lost_ns as f64 * share, lost.lost_of_ns));
        // What waits for `read` makes no fault: somebody waited for longer than faults explain.
        let is_too_little =
            |lost: &LostTime| pressure.is_some_and(|least| least.lost_ns > lost.lost_ns);
        match self.by_major_faults(interval, traffic).filter(|lost| !is_too_little(lost)) {
            Some(lost) => Price::Known(lost),
            None => Price::unknown(NO_DELAYS, pressure),
        }
    }

    /// The price by the major faults of tasks: of all pages that come in with a fault, it waits for
    /// one read. `None` where faults do not explain the pages.
    fn by_major_faults(&self, interval: &Interval<'_>, traffic: &Traffic) -> Option<LostTime> {
        let (pages, fault_ns) = self.reads?;
        let fault_ns = fault_ns?;
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

/// What the machine's disks were asked for, in pages, and which of it came back because it had been
/// evicted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Traffic {
    pub(crate) read: f64,
    pub(crate) written: f64,
    pub(crate) swapped_in: f64,
    pub(crate) swapped_out: f64,
    /// Evicted file pages that were read again.
    pub(crate) file_refaults: f64,
    /// Evicted anonymous pages that were read again; all that were swapped in, if the kernel does
    /// not count them (before Linux 5.9).
    pub(crate) anon_refaults: f64,
}

impl Traffic {
    /// What has changed in `vmstat`; `None` if it is not there.
    pub(crate) fn in_interval(interval: &Interval<'_>) -> Option<Self> {
        let machine = interval.machine();
        let grown = |names: &[&str]| machine.grown_any("vmstat", names);
        let swapped_in = grown(&["pswpin"]).unwrap_or(0.0);
        let file_refaults = grown(&["workingset_refault_file", "workingset_refault"])?;
        // Both count KiB.
        let page_kb = interval.page_bytes() as f64 / 1024.0;
        Some(Self {
            // A refault that reads compressed memory is no block I/O.
            read: (grown(&["pgpgin"])? / page_kb).max(swapped_in),
            written: grown(&["pgpgout"])? / page_kb,
            swapped_in,
            swapped_out: grown(&["pswpout"]).unwrap_or(0.0),
            file_refaults,
            anon_refaults: grown(&["workingset_refault_anon"]).unwrap_or(swapped_in),
        })
    }

    /// The part of the waits for reading that is due to so many of the pages read (0 to 1).
    pub(crate) fn share_of_reads(&self, pages: f64) -> f64 {
        if self.read > 0.0 { (pages / self.read).min(1.0) } else { 0.0 }
    }

    /// The part of reclaim that makes room for anonymous pages that come back, as against file
    /// pages (0 to 1); 0 if nothing comes back.
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
        lost_of_tasks(&second.interval(), None, |task| task.ns("blkio")).unwrap()
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
        // Of a pool of 64 one thread works, and it is the one that waits.
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
        assert_eq!(lost_of_tasks(&interval, None, |task| task.ns("blkio")), None);
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
        assert_eq!(lost_of_tasks(&interval.interval(), None, |task| task.ns("blkio")), None);
        let both = ticks(2).task("thread_blkio_ticks", "5", 50).task("thread_blkio_ticks", "6", 50);
        assert_eq!(lost(&both), LostTime::of_threads(1e9, 2, 2e9));
    }

    #[test]
    fn a_thread_of_the_kernel_loses_nothing() {
        let made = Second::bare().task("taskstats", "blkio_delay_total_ns", 900 * MS);
        let status = made.task_level("task_status", "Threads", 1);
        let interval = status.interval();
        assert_eq!(lost_of_tasks(&interval, None, |task| task.ns("blkio")), None);
        let program = status.clone().task_level("task_status", "VmSize_kb", 4096);
        assert_eq!(lost(&program).lost_ns, 900_000_000);
    }

    #[test]
    fn tasks_of_other_groups_are_left_out() {
        let made = Second::bare().task("taskstats", "blkio_delay_total_ns", 500 * MS);
        let interval = made.interval();
        let of = |group| lost_of_tasks(&interval, group, |task| task.ns("blkio"));
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
