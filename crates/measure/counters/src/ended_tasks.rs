//! Delays of whole process trees: the kernel reports each task of the machine as it ends.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use model::Values;

use crate::taskstats::{EndedTask, Taskstats};

const POSSIBLE_CPUS: &str = "/sys/devices/system/cpu/possible";
/// Room for reports that were not read yet, in bytes: some thousand tasks.
const ROOM_BYTES: usize = 8 << 20;

/// `ENOBUFS`: the socket had no room for a report.
const NO_ROOM: i32 = 105;

/// Reports of tasks that ended.
#[derive(Debug)]
pub struct EndedTasks {
    taskstats: Taskstats,
    /// Sums of what ended below a process, by its number. A task takes the sums below it along
    /// when it ends, so that there are no more of them than processes with children that ended:
    /// this memory is that of the sandbox.
    below: BTreeMap<u32, Values>,
    /// Whether reports were lost since [`Self::forget`].
    has_lost: bool,
}

impl EndedTasks {
    /// Requests reports from now on. Fails without `CAP_NET_ADMIN`, and in a namespace of users or
    /// process numbers.
    pub fn open() -> io::Result<Self> {
        let cpus = fs::read_to_string(POSSIBLE_CPUS)?;
        let mut taskstats = Taskstats::open()?;
        taskstats.report_ends(cpus.trim(), ROOM_BYTES)?;
        Ok(Self { taskstats, below: BTreeMap::new(), has_lost: false })
    }

    /// Reads the reports that are there, so that there is room for others.
    pub fn read(&mut self) {
        loop {
            match self.taskstats.ended() {
                Ok(Some(task)) => add(&mut self.below, task),
                Ok(None) => break,
                // The kernel continues with what it has room for.
                Err(error) if error.raw_os_error() == Some(NO_ROOM) => self.has_lost = true,
                Err(_) => {
                    self.has_lost = true;
                    break;
                }
            }
        }
    }

    /// Forgets all tasks that ended before now.
    pub fn forget(&mut self) {
        self.read();
        self.below.clear();
        self.has_lost = false;
    }

    /// Sums of the delays of all tasks that ended, were started below this process, and did not
    /// outlive their parent; `None` if there is none, or reports were lost.
    pub fn below(&mut self, process: u32) -> Option<Values> {
        self.read();
        self.below.get(&process).filter(|_| !self.has_lost).cloned()
    }
}

/// Adds a task that ended, and all below it, to what is below its parent.
fn add(below: &mut BTreeMap<u32, Values>, task: EndedTask) {
    let children = below.remove(&task.pid).unwrap_or_default();
    let sums = below.entry(task.parent).or_default();
    for (name, value) in task.delays.into_iter().chain(children) {
        let sum = sums.entry(name).or_default();
        *sum = sum.saturating_add(value);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_is_below_a_task_goes_with_it_to_its_parent() {
        let mut below = BTreeMap::new();
        for (pid, parent, count) in [(13, 12, 1), (14, 12, 2), (12, 10, 4), (11, 10, 8), (30, 1, 9)]
        {
            let delays = [("cpu_count".into(), count)].into();
            add(&mut below, EndedTask { pid, parent, delays });
        }
        assert_eq!(below.keys().copied().collect::<Vec<_>>(), [1, 10]);
        assert_eq!(below[&10]["cpu_count"], 15);
    }

    #[test]
    fn a_tree_that_ended_is_counted_and_others_are_not() {
        let mut ended = match EndedTasks::open() {
            Ok(ended) => ended,
            Err(error) => {
                let is_refused = error.kind() == io::ErrorKind::PermissionDenied
                    || error.kind() == io::ErrorKind::NotFound
                    || error.kind() == io::ErrorKind::InvalidInput;
                assert!(is_refused, "{error}");
                return;
            }
        };
        ended.forget();
        // A shell with a child and a grandchild that use the CPU.
        let work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let script = format!("sh -c '{work}; sh -c \"{work}\"; true'; true");
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
        let here = std::process::id();
        let sums = ended.below(here).unwrap();
        assert!(sums["cpu_count"] >= 3, "each ran: {sums:?}");
        assert!(sums.contains_key("blkio_delay_total_ns"), "{sums:?}");
        assert_eq!(ended.below(u32::MAX), None, "no process has this number");
        ended.forget();
        assert_eq!(ended.below(here), None);
    }
}
