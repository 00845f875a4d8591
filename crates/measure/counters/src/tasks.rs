//! Counters of any process, one after the other: for a reader of all of them.

use std::fs;
use std::path::{Path, PathBuf};

use model::{CounterSet, Unavailable, Values};

use crate::file::Parse;
use crate::parse;
use crate::task::{
    SCHED, TASK_STAT, TASKSTATS, delay_accounting_enabled, no_schedstat, open_taskstats,
    sleeps_counted,
};
use crate::taskstats::Taskstats;

const SOURCES: [(&str, &str, Parse); 4] = [
    (TASK_STAT, "stat", parse::task_stat),
    ("task_status", "status", parse::task_status_counters),
    ("schedstat", "schedstat", parse::schedstat),
    (SCHED, SCHED, parse::sched),
];

/// A reader of the processes of a machine.
///
/// `task_stat`, `task_status` and `taskstats` are of the process, `sched`,
/// `schedstat` and `blkio_delay_ticks` of its first thread. With several threads there are, by thread
/// number, `thread_run_ns`, `thread_wait_ns` and, while they are counted, `thread_blocked_ns` and
/// `thread_iowait_ns`; where `taskstats` may not be read, `thread_blkio_ticks`.
#[derive(Debug)]
pub struct Tasks {
    proc_root: PathBuf,
    counts_time: bool,
    counts_sleeps: bool,
    counts_delays: bool,
    /// Open only while delays are counted and may be read.
    taskstats: Option<Taskstats>,
}

impl Tasks {
    /// Tries what is available; what is not is in the list, once.
    pub fn open(proc_root: &Path) -> (Self, Vec<Unavailable>) {
        let mut missed = Vec::from_iter(no_schedstat(proc_root));
        let counts_time = missed.is_empty();
        let enabled = delay_accounting_enabled(proc_root);
        let taskstats = open_taskstats(enabled, std::process::id(), &mut missed);
        // Without access to taskstats the waits for block I/O may still be counted.
        let counts_delays = taskstats.is_some() || enabled == Some(true);
        let (counts_sleeps, proc_root) = (sleeps_counted(proc_root), proc_root.to_owned());
        let tasks = Self { proc_root, counts_time, counts_sleeps, counts_delays, taskstats };
        (tasks, missed)
    }

    /// The counters of a process: what cannot be read is absent, all of a process that has ended.
    pub fn read(&mut self, pid: u32) -> CounterSet {
        let dir = self.proc_root.join(pid.to_string());
        let mut set = CounterSet::new();
        for (source, file, parse) in SOURCES {
            let is_counted = match source {
                "schedstat" => self.counts_time,
                SCHED => self.counts_sleeps,
                _ => true,
            };
            if !is_counted {
                continue;
            }
            set.extend(values(&dir.join(file), parse).map(|values| (source.into(), values)));
        }
        let Some(values) = set.get_mut(TASK_STAT) else { return CounterSet::new() };
        if !self.counts_delays {
            // Without delay accounting it would be 0.
            values.remove("blkio_delay_ticks");
        }
        let has_threads = values.get("threads").is_some_and(|threads| *threads > 1);
        if let Some(taskstats) = &mut self.taskstats {
            let delays = taskstats.read(pid, true).ok();
            set.extend(delays.map(|delays| (TASKSTATS.into(), delays)));
        }
        if has_threads {
            set.extend(self.threads(&dir.join("task")));
        }
        set
    }

    /// The counters of each thread: sources with thread numbers as names.
    fn threads(&self, dir: &Path) -> CounterSet {
        let mut set = CounterSet::new();
        let mut add = |source: &str, thread: &str, value: Option<&u64>| {
            let values = value.map(|value| (thread.into(), *value));
            set.entry(source.into()).or_default().extend(values);
        };
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(thread) = name.to_str() else { continue };
            let of = |file, parse| values(&entry.path().join(file), parse).unwrap_or_default();
            if self.counts_time {
                let times = of("schedstat", parse::schedstat);
                add("thread_run_ns", thread, times.get("run_ns"));
                add("thread_wait_ns", thread, times.get("wait_ns"));
            }
            if self.counts_sleeps {
                let sleeps = of(SCHED, parse::sched);
                add("thread_blocked_ns", thread, sleeps.get("blocked_ns"));
                add("thread_iowait_ns", thread, sleeps.get("iowait_ns"));
            }
            if self.counts_delays && self.taskstats.is_none() {
                let stat = of("stat", parse::task_stat);
                add("thread_blkio_ticks", thread, stat.get("blkio_delay_ticks"));
            }
        }
        set.retain(|_, values| !values.is_empty());
        set
    }
}

fn values(path: &Path, parse: Parse) -> Option<Values> {
    Some(parse(&fs::read_to_string(path).ok()?).ok()?.into_iter().collect())
}
