//! Snapshots of the running machine: its counters, and those of all control groups and processes.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use counters::{Hierarchies, Reader, Roots, Sources, Tasks, group_of};
use doctor::{LeftOut, RECORDING_SCHEMA, RecordingHeader, Snapshot, TaskSnapshot, UnitCosts};
use model::{CounterSet, Unavailable};

/// The controllers of version 1 whose groups are looked for.
const V1_CONTROLLERS: [&str; 3] = ["memory", "cpu", "cpuacct"];

/// The running machine, ready to be read.
#[derive(Debug)]
pub struct Survey {
    proc_root: PathBuf,
    hierarchies: Hierarchies,
    machine: Reader,
    tasks: Tasks,
    missed: Vec<Unavailable>,
}

impl Survey {
    /// Opens the files that stay open. It needs no privilege.
    pub fn open() -> Self {
        let proc_root = PathBuf::from("/proc");
        let (machine, mut missed) = Reader::open(&Sources::machine(&proc_root));
        let hierarchies = Hierarchies::read().unwrap_or_else(|error| {
            missed.push(Unavailable { capability: "memcg".to_owned(), reason: error.to_string() });
            Hierarchies::default()
        });
        let (tasks, tasks_missed) = Tasks::open(&proc_root);
        missed.extend(tasks_missed);
        Self { proc_root, hierarchies, machine, tasks, missed }
    }

    /// Unavailable capabilities, with the reasons.
    pub fn missed(&self) -> &[Unavailable] {
        &self.missed
    }

    /// The first line of a recording that starts now.
    pub fn recording_header(&self, costs: &UnitCosts) -> RecordingHeader {
        let (environment, mut missed) = counters::environment(&Roots::system(None));
        missed.extend(self.missed.iter().cloned());
        RecordingHeader {
            kind: RecordingHeader::KIND.to_owned(),
            schema: RECORDING_SCHEMA,
            thrashlab: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_ns: sys::clock::realtime_ns(),
            environment,
            missed,
            costs: costs.clone(),
        }
    }

    /// All counters now, `at_ns` from the start of the recording.
    pub fn snapshot(&mut self, at_ns: u64) -> Snapshot {
        // All are listed before the first is read: later ones belong to the next snapshot.
        let pids: Vec<u32> = pids(&self.proc_root).collect();
        let tasks = pids.into_iter().filter_map(|pid| Some((pid, self.task(pid)?))).collect();
        let groups = self.group_paths().into_iter().filter_map(|path| {
            let set = self.group(&path);
            (!set.is_empty()).then_some((path, set))
        });
        let groups = groups.collect();
        Snapshot { groups, tasks, ..self.machine(at_ns) }
    }

    /// The counters of the machine alone.
    pub(crate) fn machine(&mut self, at_ns: u64) -> Snapshot {
        Snapshot {
            at_ns,
            boot_ns: Some(sys::clock::boot_ns()),
            page_bytes: Some(sys::pagemap::page_bytes()),
            machine: self.machine.read(true),
            left_out: LeftOut {
                // Each user may read it, where processes are not hidden (proc(5)).
                hides_processes: fs::read(self.proc_root.join("1/stat")).is_err(),
                ..LeftOut::default()
            },
            ..Snapshot::default()
        }
    }

    /// All control groups, those without processes too: one that is absent here and present later
    /// is new.
    pub(crate) fn group_paths(&self) -> BTreeSet<String> {
        let v1 =
            V1_CONTROLLERS.iter().filter_map(|controller| self.hierarchies.v1.get(*controller));
        let mounts = self.hierarchies.v2.iter().chain(v1);
        mounts.flat_map(|it| groups_below(&it.mount_dir)).collect()
    }

    /// Where the control groups are.
    pub(crate) fn hierarchies(&self) -> &Hierarchies {
        &self.hierarchies
    }

    /// A process; `None` if it has ended.
    pub(crate) fn task(&mut self, pid: u32) -> Option<TaskSnapshot> {
        let text = |name: &str| fs::read_to_string(self.proc_root.join(format!("{pid}/{name}")));
        let counters = self.tasks.read(pid);
        if counters.is_empty() {
            return None;
        }
        let memberships = text("cgroup").unwrap_or_default();
        let of = |controller: &str| {
            let path = group_of(&memberships, controller)?;
            (path != "/").then(|| path.to_owned())
        };
        let name = text("comm").unwrap_or_default().trim_end().to_owned();
        Some(TaskSnapshot { name, group: of("memory").or_else(|| of("")), counters })
    }

    /// The counters of a group, from the hierarchies that have its path.
    pub(crate) fn group(&self, path: &str) -> CounterSet {
        let sources = Sources::of_group(&self.hierarchies, Path::new(path), &self.proc_root);
        Reader::open_group(&sources).0.read(true)
    }
}

/// All processes in a folder like `/proc`.
pub(crate) fn pids(proc_root: &Path) -> impl Iterator<Item = u32> + use<> {
    let entries = fs::read_dir(proc_root).into_iter().flatten().flatten();
    entries.filter_map(|entry| pid_of(&entry))
}

/// The process of an entry of such a folder.
pub(crate) fn pid_of(entry: &DirEntry) -> Option<u32> {
    entry.file_name().to_str()?.parse().ok()
}

/// The paths of the groups of a hierarchy, without its root.
fn groups_below(mount: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(mount.join(&folder)).into_iter().flatten().flatten();
        let groups = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        for group in groups.map(|entry| folder.join(entry.file_name())) {
            found.extend(group.to_str().map(|path| format!("/{path}")));
            folders.push(group);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hierarchy_has_its_groups_and_those_above_them() {
        let mount = tempfile::tempdir().unwrap();
        fs::create_dir_all(mount.path().join("a/b/c")).unwrap();
        fs::create_dir(mount.path().join("d")).unwrap();
        fs::write(mount.path().join("a/memory.stat"), "").unwrap();
        let mut groups = groups_below(mount.path());
        groups.sort();
        assert_eq!(groups, ["/a", "/a/b", "/a/b/c", "/d"]);
        assert!(groups_below(&mount.path().join("none")).is_empty());
    }

    #[test]
    fn the_running_machine_is_read() {
        let mut survey = Survey::open();
        let snapshot = survey.snapshot(7);
        assert_eq!(snapshot.at_ns, 7);
        assert!(snapshot.machine["vmstat"].contains_key("pgmajfault"));
        let own = &snapshot.tasks[&std::process::id()];
        assert!(own.counters["task_stat"]["minflt"] > 0);
        assert!(own.counters["task_status"]["VmRSS_kb"] > 0, "{own:?}");
    }
}
