//! Counters of one task: scheduling, faults and CPU time, and what it has waited for.

use std::fs;
use std::io;
use std::path::Path;

use model::{CounterSet, Missed};

use crate::file::{CounterFiles, Parse, row};
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

/// Open counters of one process, or (`schedstat`, `taskstats`) of its first thread.
#[derive(Debug)]
pub struct TaskReader {
    files: CounterFiles,
    pid: u32,
    /// Open only while delays are counted.
    taskstats: Option<Taskstats>,
}

impl TaskReader {
    /// Opens and tries the counters of a task; what is not available is in the list, once.
    ///
    /// `taskstats`, always of the running kernel, is left out when delays are switched off. It is
    /// zero for a task started before they were switched on, unnoticed.
    pub fn open(proc_root: &Path, pid: u32) -> (Self, Vec<Missed>) {
        let mut files = CounterFiles::default();
        let dir = proc_root.join(pid.to_string());
        let mut open = |file, source: &'static str, parse| {
            let opened = files.open(&dir, row(file, source, parse, ""));
            opened.err().map(|why| why.missed(source.to_owned()))
        };
        let no_schedstat = no_schedstat(proc_root)
            .or_else(|| open("schedstat", "schedstat", parse::schedstat as Parse));
        let mut missed = Vec::from_iter(no_schedstat);
        missed.extend(open("stat", TASK_STAT, parse::task_stat));
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

/// Why `schedstat` is unavailable, if even this process, which has run, has only zeros in its own.
pub(crate) fn no_schedstat(proc_root: &Path) -> Option<Missed> {
    let own = proc_root.join("self/schedstat");
    let values = parse::schedstat(&fs::read_to_string(&own).ok()?).ok()?;
    values.iter().all(|(_, value)| *value == 0).then(|| Missed {
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
    missed: &mut Vec<Missed>,
) -> Option<Taskstats> {
    let missing = |reason| Missed { capability: TASKSTATS.to_owned(), reason };
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
            "taskstats of process {pid} says that it never ran: this kernel does not count delays \
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
}
