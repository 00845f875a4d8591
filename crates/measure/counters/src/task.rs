//! Counters of one task, or summed over several: scheduling, faults, CPU time, and delays.

use std::fs;
use std::io;
use std::path::Path;

use model::{CounterSet, Name, Unavailable, Values};

use crate::file::{Parse, Reader, row};
use crate::parse;
use crate::taskstats::Taskstats;

pub(crate) const TASKSTATS: &str = "taskstats";
pub(crate) const TASK_STAT: &str = "task_stat";

/// Whether delays are counted for new tasks (`Documentation/admin-guide/sysctl/kernel.rst`); `None`
/// before Linux 5.14 or without `CONFIG_TASK_DELAY_ACCT`.
pub fn delay_accounting_enabled(proc_root: &Path) -> Option<bool> {
    match fs::read_to_string(proc_root.join("sys/kernel/task_delayacct")).ok()?.trim_ascii() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// Source of waits in the kernel.
pub(crate) const SCHED: &str = "sched";

/// Whether the scheduler counts for what tasks wait (`kernel.sched_schedstats`).
pub(crate) fn sleeps_counted(proc_root: &Path) -> bool {
    let switch = fs::read_to_string(proc_root.join("sys/kernel/sched_schedstats"));
    switch.is_ok_and(|text| text.trim_ascii() == "1")
}

/// Open counters of one process, or (`sched`, `schedstat`, `taskstats`) of its first thread.
#[derive(Debug)]
pub struct TaskReader {
    files: Reader,
    pid: u32,
    /// Open only while delays are counted.
    taskstats: Option<Taskstats>,
}

impl TaskReader {
    /// Opens and tries the counters of a task; what is not available is in the list, once.
    ///
    /// `taskstats`, always of the running kernel, is left out when delays are switched off. It is
    /// zero for a task started before they were switched on, unnoticed.
    pub fn open(proc_root: &Path, pid: u32) -> (Self, Vec<Unavailable>) {
        let mut files = Reader::default();
        let dir = proc_root.join(pid.to_string());
        let mut open = |file, source: &'static str, parse| {
            let refused = files.add(&dir, row(file, source, parse, ""), false);
            refused.map(|reason| Unavailable { capability: source.to_owned(), reason })
        };
        let no_schedstat = no_schedstat(proc_root)
            .or_else(|| open("schedstat", "schedstat", parse::schedstat as Parse));
        let mut missed = Vec::from_iter(no_schedstat);
        missed.extend(open("stat", TASK_STAT, parse::task_stat));
        if sleeps_counted(proc_root) {
            missed.extend(open(SCHED, SCHED, parse::sched));
        }
        let taskstats = open_taskstats(delay_accounting_enabled(proc_root), pid, &mut missed);
        (Self { files, pid, taskstats }, missed)
    }

    /// Reads every counter of the task once; nothing if it has ended.
    pub fn read(&mut self) -> CounterSet {
        let mut set = self.files.read(true);
        // Open files are bound to the task itself, netlink only to its number.
        let ended = !self.files.is_empty() && set.is_empty();
        if ended {
            return set;
        }
        match &mut self.taskstats {
            Some(taskstats) => {
                let delays = taskstats.read(self.pid, false).ok();
                set.extend(delays.map(|delays| (TASKSTATS.into(), delays)));
            }
            None => {
                // Without delay accounting it would be 0.
                if let Some(values) = set.get_mut(TASK_STAT) {
                    values.remove("blkio_delay_ticks");
                }
            }
        }
        set
    }
}

/// Most processes that are read one by one: more would cost more than they are worth.
pub const SUMMED_TASKS_MAX: usize = 16;
/// Values that are not counters and are left out.
const NOT_SUMMED: [&str; 1] = ["starttime_ticks"];

/// Open counters of several processes.
#[derive(Debug, Default)]
pub struct TaskSum {
    readers: Vec<TaskReader>,
}

impl TaskSum {
    /// Opens the counters of new processes; of none if they are more than [`SUMMED_TASKS_MAX`].
    pub fn open(proc_root: &Path, pids: impl ExactSizeIterator<Item = u32>) -> Self {
        if pids.len() > SUMMED_TASKS_MAX {
            return Self::default();
        }
        Self { readers: pids.map(|pid| TaskReader::open(proc_root, pid).0).collect() }
    }

    /// The sums of `task_stat`, `sched`, `schedstat` and `taskstats` as `load_task_stat` and so on, with the
    /// number of processes as `tasks`. A source that an ended process lacks is absent.
    pub fn read(&mut self) -> CounterSet {
        let tasks = self.readers.len() as u64;
        let mut sets = self.readers.iter_mut().map(TaskReader::read);
        let Some(mut sum) = sets.next() else { return CounterSet::new() };
        for set in sets {
            sum.retain(|source, _| set.contains_key(source));
            for (source, values) in &mut sum {
                values.retain(|name, _| set[source].contains_key(name));
                for (name, value) in values {
                    *value = value.saturating_add(set[source][name]);
                }
            }
        }
        let named = |(source, mut values): (Name, Values)| {
            values.retain(|name, _| !NOT_SUMMED.contains(&name.as_str()));
            values.insert("tasks".into(), tasks);
            (format!("load_{source}").into(), values)
        };
        sum.into_iter().map(named).collect()
    }
}

/// Why `schedstat` is unavailable, if even this process, which has run, has only zeros in its own.
pub(crate) fn no_schedstat(proc_root: &Path) -> Option<Unavailable> {
    let own = proc_root.join("self/schedstat");
    let values = parse::schedstat(&fs::read_to_string(&own).ok()?).ok()?;
    values.iter().all(|(_, value)| *value == 0).then(|| Unavailable {
        capability: "schedstat".to_owned(),
        reason: format!(
            "{} is all zeros: this kernel does not count (CONFIG_SCHED_INFO)",
            own.display()
        ),
    })
}

/// Connects to taskstats and tries it on a task.
pub(crate) fn open_taskstats(
    enabled: Option<bool>,
    pid: u32,
    missed: &mut Vec<Unavailable>,
) -> Option<Taskstats> {
    let missing = |reason| Unavailable { capability: TASKSTATS.to_owned(), reason };
    try_taskstats(enabled, pid).map_err(|reason| missed.push(missing(reason))).ok()
}

fn try_taskstats(enabled: Option<bool>, pid: u32) -> Result<Taskstats, String> {
    if enabled == Some(false) {
        return Err("kernel.task_delayacct is 0: delays are not counted; switch it on before the \
             task is started (sysctl kernel.task_delayacct=1)"
            .to_owned());
    }
    let mut taskstats = Taskstats::open().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            format!("netlink family TASKSTATS: {error}: this kernel lacks CONFIG_TASKSTATS")
        }
        _ => format!("netlink family TASKSTATS: {error}"),
    })?;
    let delays = taskstats.read(pid, false).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("taskstats of process {pid}: {error}: needs CAP_NET_ADMIN")
        }
        _ => format!("taskstats of process {pid}: {error}"),
    })?;
    // Without the switch only a zero shows that the kernel does not count.
    if enabled.is_none() && delays.get("cpu_count").is_none_or(|count| *count == 0) {
        return Err(format!(
            "taskstats of process {pid} has no delays: this kernel does not count them \
             (no CONFIG_TASK_DELAY_ACCT, or booted with nodelayacct)"
        ));
    }
    Ok(taskstats)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_that_are_off_say_how_to_switch_them_on() {
        let reason = try_taskstats(Some(false), 1).unwrap_err();
        assert!(reason.starts_with("kernel.task_delayacct is 0: "), "{reason}");
    }

    /// A process that has had `minor_faults`.
    fn make(root: &Path, pid: u32, minor_faults: u64) {
        let dir = root.join(pid.to_string());
        fs::create_dir_all(&dir).unwrap();
        let zeros = "0 ".repeat(14);
        let columns = format!("S 1 1 1 0 -1 0 {minor_faults} 0 0 0 1 2 0 0 20 0 1 0 77 4096 1 ");
        fs::write(dir.join("stat"), format!("{pid} (a b) {columns}{zeros}\n")).unwrap();
        fs::write(dir.join("schedstat"), "10 20 3\n").unwrap();
    }

    #[test]
    fn counters_of_processes_are_summed() {
        let root = tempfile::tempdir().unwrap();
        make(root.path(), 7, 100);
        make(root.path(), 8, 11);
        let mut sum = TaskSum::open(root.path(), [7, 8].into_iter());
        let set = sum.read();
        assert_eq!((set["load_task_stat"]["minflt"], set["load_task_stat"]["tasks"]), (111, 2));
        assert_eq!(set["load_schedstat"]["wait_ns"], 40);
        assert!(!set["load_task_stat"].contains_key("starttime_ticks"));

        // One of them has ended: there is no sum of what one of the summands lacks.
        fs::write(root.path().join("8/schedstat"), "").unwrap();
        let set = sum.read();
        assert!(set.contains_key("load_task_stat") && !set.contains_key("load_schedstat"));
    }

    #[test]
    fn waits_in_the_kernel_are_read_while_they_are_counted() {
        let root = tempfile::tempdir().unwrap();
        make(root.path(), 7, 1);
        let sums = "sum_block_runtime : 1500.000001\niowait_sum : 2.000000\n";
        fs::write(root.path().join("7/sched"), sums).unwrap();
        let read = || TaskSum::open(root.path(), [7].into_iter()).read();
        assert!(!read().contains_key("load_sched"));
        fs::create_dir_all(root.path().join("sys/kernel")).unwrap();
        fs::write(root.path().join("sys/kernel/sched_schedstats"), "1\n").unwrap();
        let sums = read()["load_sched"].clone();
        assert_eq!((sums["blocked_ns"], sums["iowait_ns"]), (1_500_000_001, 2_000_000));
    }

    #[test]
    fn too_many_processes_are_not_read() {
        let root = tempfile::tempdir().unwrap();
        let pids = 1..=SUMMED_TASKS_MAX as u32 + 1;
        for pid in pids.clone() {
            make(root.path(), pid, 1);
        }
        let pids: Vec<u32> = pids.collect();
        assert!(TaskSum::open(root.path(), pids.iter().copied()).read().is_empty());
        assert!(!TaskSum::open(root.path(), pids[1..].iter().copied()).read().is_empty());
    }
}
