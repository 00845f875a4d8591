//! Counters of several processes, summed: of the workers of a load, of which nobody asks who.

use std::path::Path;

use model::{CounterSet, Name, Values};

use crate::task::TaskReader;

/// Most processes that are read one by one: more would cost more than they tell.
pub const SUMMED_TASKS_MAX: usize = 16;
/// Values that are no counters and are left out.
const NOT_SUMMED: [&str; 1] = ["starttime_ticks"];

/// Open counters of several processes.
#[derive(Debug, Default)]
pub struct TaskSum {
    readers: Vec<TaskReader>,
}

impl TaskSum {
    /// Opens the counters of new processes; of none if they are more than [`SUMMED_TASKS_MAX`].
    /// What is unavailable here is so for any single process and reported there.
    pub fn open(proc_root: &Path, pids: impl ExactSizeIterator<Item = u32>) -> Self {
        if pids.len() > SUMMED_TASKS_MAX {
            return Self::default();
        }
        Self { readers: pids.map(|pid| TaskReader::open(proc_root, pid).0).collect() }
    }

    /// The sums of `task_stat`, `schedstat` and `taskstats` as `load_task_stat` and so on, with the
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
