//! What processes have waited for, and how much of it is due to which pages: measured delays, where
//! they are there, divided by what the disk was asked for.
//!
//! A task's delays are those of delay accounting (`taskstats`,
//! `Documentation/accounting/delay-accounting.rst`). Where no task has them, the machine's pressure
//! stall totals stand in for all tasks together (`Documentation/accounting/psi.rst`): the time in
//! which at least one of them waited.

use crate::finding::NOTE_SHARE;
use crate::{Change, Interval};

/// Time lost, and by how much of the time of those whom it affects.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Lost {
    /// In ns, summed over those that lost at least [`NOTE_SHARE`] of their time.
    pub(crate) ns: f64,
    /// As a share of their time (0 to 1).
    pub(crate) share: f64,
}

impl Lost {
    /// Time lost out of the time of those who lost it.
    pub(crate) fn of(ns: f64, of_ns: f64) -> Self {
        let ns = ns.clamp(0.0, of_ns);
        Self { ns, share: if of_ns > 0.0 { ns / of_ns } else { 0.0 } }
    }
}

/// The delays of one task in ns, as far as its kernel has them.
pub(crate) struct Delays<'a> {
    change: Change<'a>,
}

impl Delays<'_> {
    /// Time of the delay `name` (`blkio`, `swapin`, `freepages`, `compact`, …) in ns; 0 if this
    /// kernel does not tell it.
    pub(crate) fn ns(&self, name: &str) -> f64 {
        self.change.grown("taskstats", &format!("{name}_delay_total_ns")).unwrap_or(0) as f64
    }

    /// The time of the task in ns: the interval. Of several processes that are told as one, those
    /// that sleep of their own accord are left out: it is the time in which they ran or waited, at
    /// least one interval, at most one for each of them.
    fn awake_ns(&self, elapsed_ns: f64) -> f64 {
        let tasks = self.change.level("taskstats", "tasks").unwrap_or(1).max(1);
        let scheduled = |name: &str| self.change.grown("schedstat", name).unwrap_or(0) as f64;
        // A swap-in waits for block I/O, so the two are not added.
        let delayed_ns =
            self.ns("blkio").max(self.ns("swapin")) + self.ns("freepages") + self.ns("compact");
        let awake_ns = scheduled("run_ns") + scheduled("wait_ns") + delayed_ns;
        awake_ns.clamp(elapsed_ns, tasks as f64 * elapsed_ns)
    }
}

/// What all tasks (of a group, if one is named) have lost, each by a formula over its delays; `None`
/// if no task tells its delays.
pub(crate) fn lost_of_tasks(
    interval: &Interval<'_>,
    group: Option<&str>,
    formula: impl Fn(&Delays<'_>) -> f64,
) -> Option<Lost> {
    let (mut is_told, mut lost_ns, mut time_ns) = (false, 0.0, 0.0);
    for (_, task, change) in interval.tasks() {
        let is_other = group.is_some_and(|group| task.group.as_deref() != Some(group));
        if is_other || !change.has("taskstats") {
            continue;
        }
        is_told = true;
        let delays = Delays { change };
        let own_ns = delays.awake_ns(interval.elapsed_ns() as f64);
        let own = Lost::of(formula(&delays), own_ns);
        if own.share >= NOTE_SHARE {
            lost_ns += own.ns;
            time_ns += own_ns;
        }
    }
    is_told.then(|| Lost::of(lost_ns, time_ns))
}

/// The machine's pressure stall total `name` (`memory_some_us`, …) as time lost.
pub(crate) fn lost_of_pressure(interval: &Interval<'_>, name: &str) -> Option<Lost> {
    let us = interval.machine().grown("psi", name)?;
    Some(Lost::of(us as f64 * 1e3, interval.elapsed_ns() as f64))
}

/// What the machine's disks were asked for, in pages, and which of it came back because it had been
/// evicted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Traffic {
    /// Pages read.
    pub(crate) read: f64,
    /// Pages written.
    pub(crate) written: f64,
    /// Pages swapped in.
    pub(crate) swapped_in: f64,
    /// Pages swapped out.
    pub(crate) swapped_out: f64,
    /// Evicted file pages that were read again.
    pub(crate) file_refaults: f64,
    /// Evicted anonymous pages that were read again; all that were swapped in, if the kernel does
    /// not tell (before Linux 5.9).
    pub(crate) anon_refaults: f64,
}

/// KiB of a page, in which `pgpgin` and `pgpgout` count.
const PAGE_KB: f64 = 4.0;

impl Traffic {
    /// What has changed in `vmstat`; `None` if it is not there.
    pub(crate) fn of(machine: &Change<'_>) -> Option<Self> {
        let grown = |names: &[&str]| machine.grown_any("vmstat", names).map(|value| value as f64);
        let swapped_in = grown(&["pswpin"]).unwrap_or(0.0);
        let file_refaults = grown(&["workingset_refault_file", "workingset_refault"])?;
        Some(Self {
            // A refault that reads compressed memory is no block I/O.
            read: (grown(&["pgpgin"])? / PAGE_KB).max(swapped_in),
            written: grown(&["pgpgout"])? / PAGE_KB,
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
    use crate::sample::{GROUP, Second};

    /// What processes told as one have lost by waiting for block I/O, in a second.
    fn lost(tasks: u64, run_ns: u64, blkio_ns: u64) -> Lost {
        let made = Second::bare()
            .task_level("taskstats", "tasks", tasks)
            .task("taskstats", "blkio_delay_total_ns", blkio_ns)
            .task("schedstat", "run_ns", run_ns);
        lost_of_tasks(&made.interval(), None, |task| task.ns("blkio")).unwrap()
    }

    #[test]
    fn processes_that_sleep_are_not_counted_but_one_is() {
        let [ms, second] = [1_000_000, 1_000_000_000];
        // One of two sleeps; both wait; one waits a little and otherwise sleeps.
        assert_eq!(lost(2, 200 * ms, 800 * ms).share, 0.8);
        assert_eq!(lost(2, 400 * ms, 1600 * ms).share, 0.8);
        assert_eq!(lost(1, 0, 300 * ms).share, 0.3);
        assert_eq!(lost(2, 0, 300 * ms).share, 0.3);
        // More than there is cannot be lost, and what is less than a note is nobody's.
        assert_eq!(lost(1, second, 3 * second), Lost { ns: 1e9, share: 1.0 });
        assert_eq!(lost(1, 0, 9 * ms), Lost::default());
    }

    #[test]
    fn tasks_of_other_groups_are_left_out() {
        let made = Second::bare().task("taskstats", "blkio_delay_total_ns", 500_000_000);
        let interval = made.interval();
        let of = |group| lost_of_tasks(&interval, group, |task| task.ns("blkio"));
        assert_eq!(of(None), of(Some(GROUP)));
        assert_eq!(of(Some("other")), None, "nobody tells");
    }

    #[test]
    fn traffic_needs_its_counters() {
        let made = Second::bare().machine("vmstat", "pgpgin", 40).machine("vmstat", "pgpgout", 8);
        assert_eq!(Traffic::of(&made.interval().machine()), None);
        let told = made.machine("vmstat", "workingset_refault", 5).machine("vmstat", "pswpin", 5);
        let traffic = Traffic::of(&told.interval().machine()).unwrap();
        assert_eq!((traffic.read, traffic.written, traffic.file_refaults), (10.0, 2.0, 5.0));
        assert_eq!((traffic.share_of_reads(5.0), traffic.anon_share()), (0.5, 0.5));
        assert_eq!(traffic.share_of_reads(50.0), 1.0);
    }
}
