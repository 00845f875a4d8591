//! Counters of any process, one after the other: for whoever looks at all of them.

use std::fs;
use std::path::{Path, PathBuf};

use model::{CounterSet, Missed};
use sys::taskstats::Taskstats;

use crate::delay_accounting_enabled;
use crate::parse::{self, ParseError, Values};
use crate::task::{TASK_STAT, TASKSTATS, delay_values, no_schedstat, open_taskstats};

/// A source of a process's counters: its name, its file in `/proc/PID`, and how that is read.
type Source = (&'static str, &'static str, fn(&str) -> Result<Values, ParseError>);

const SOURCES: [Source; 3] = [
    (TASK_STAT, "stat", parse::task_stat),
    ("task_status", "status", parse::task_status_counters),
    ("schedstat", "schedstat", parse::schedstat),
];

/// A reader of the processes of a machine.
///
/// `task_stat`, `task_status` and `taskstats` are of the whole process; `schedstat` is of its first
/// thread.
#[derive(Debug)]
pub struct Tasks {
    proc_root: PathBuf,
    counts_time: bool,
    /// Open only while delays are counted and may be read.
    taskstats: Option<Taskstats>,
}

impl Tasks {
    /// Finds out what can be had of processes; what cannot is in the list, once. Whether delays can
    /// be read is tried on this process; `taskstats` comes from the running kernel, whatever
    /// `proc_root` is.
    #[must_use]
    pub fn open(proc_root: &Path) -> (Self, Vec<Missed>) {
        let mut missed = Vec::from_iter(no_schedstat(proc_root));
        let counts_time = missed.is_empty();
        let opened = open_taskstats(delay_accounting_enabled(proc_root), std::process::id());
        let taskstats = opened
            .map_err(|reason| missed.push(Missed { capability: TASKSTATS.to_owned(), reason }))
            .ok();
        (Self { proc_root: proc_root.to_owned(), counts_time, taskstats }, missed)
    }

    /// The counters of a process. Never fails: what cannot be read is absent, and of a process that
    /// has ended the set is empty.
    #[must_use]
    pub fn read(&mut self, pid: u32) -> CounterSet {
        let dir = self.proc_root.join(pid.to_string());
        let mut set = CounterSet::new();
        for (source, file, read) in SOURCES {
            if source == "schedstat" && !self.counts_time {
                continue;
            }
            let text = fs::read_to_string(dir.join(file));
            let values = text.ok().and_then(|text| read(&text).ok());
            set.extend(values.map(|values| (source.to_owned(), values)));
        }
        match (&mut self.taskstats, set.get_mut(TASK_STAT)) {
            (_, None) => return CounterSet::new(),
            (None, Some(values)) => {
                // Delay accounting is what counts these ticks; without it they would be 0.
                values.remove("blkio_delay_ticks");
            }
            (Some(taskstats), Some(_)) => {
                let delays = taskstats.read_process(pid).ok();
                set.extend(delays.map(|delays| (TASKSTATS.to_owned(), delay_values(&delays))));
            }
        }
        set
    }
}
