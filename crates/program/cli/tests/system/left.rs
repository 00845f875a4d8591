//! What an invocation must not leave behind.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::Fixture;

/// Everything must be gone after this time: two seconds take ten times as long on a busy machine.
const LIMIT: Duration = Duration::from_secs(20);

/// A process as `/proc` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) command: String,
}

/// All processes that work in the folder of a test or below it (a zombie works nowhere).
pub(crate) fn processes(fixture: &Fixture) -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(fixture.path()))
    })
    .filter_map(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?.replace('\0', " ");
        Some(Process { pid, parent, command })
    })
    .collect()
}

/// The agent or the cleanup process of an invocation: its child with this in its command line.
pub(crate) fn child_of(fixture: &Fixture, parent: u32, command: &str) -> Option<u32> {
    processes(fixture)
        .into_iter()
        .find(|process| process.parent == parent && process.command.contains(command))
        .map(|process| process.pid)
}

/// Keys of all message queues and shared memory segments that the journals of a test name.
pub(crate) fn queue_keys(fixture: &Fixture) -> BTreeSet<i64> {
    let mut keys = BTreeSet::new();
    for journal in journals(fixture) {
        for line in fs::read_to_string(journal).unwrap_or_default().lines() {
            let entry: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            keys.extend(entry["made"]["key"].as_i64());
        }
    }
    keys
}

/// Fails if anything is left of the invocation of process `pid`: processes, files, control groups,
/// message queues, shared memory, swap areas, mounts, journals. Waits for [`LIMIT`] at most.
#[track_caller]
pub(crate) fn assert_nothing_left(fixture: &Fixture, pid: u32, queues: &BTreeSet<i64>) {
    let deadline = Instant::now() + LIMIT;
    loop {
        let left = everything_left(fixture, pid, queues);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "left after {LIMIT:?}: {left:#?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn everything_left(fixture: &Fixture, pid: u32, queues: &BTreeSet<i64>) -> Vec<String> {
    let mut left: Vec<String> =
        processes(fixture).iter().map(|process| format!("process {process:?}")).collect();
    let is_lock = |path: &PathBuf| path.file_name().is_some_and(|name| name == "thrashlab.lock");
    left.extend(
        files(&fixture.work())
            .iter()
            .filter(|path| !is_lock(path))
            .map(|path| format!("file {}", path.display())),
    );
    left.extend(journals(fixture).iter().map(|path| format!("journal {}", path.display())));
    left.extend(groups(pid).iter().map(|path| format!("control group {}", path.display())));
    for (table, what) in [("msg", "message queue"), ("shm", "shared memory segment")] {
        let text = fs::read_to_string(format!("/proc/sysvipc/{table}")).unwrap_or_default();
        let keys = text.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok());
        let left_keys = keys.filter(|key| queues.contains(key));
        left.extend(left_keys.map(|key: i64| format!("{what} {key}")));
    }
    let ours = fixture.path().to_str().unwrap();
    for table in ["/proc/swaps", "/proc/self/mountinfo"] {
        let text = fs::read_to_string(table).unwrap_or_default();
        left.extend(
            text.lines().filter(|line| line.contains(ours)).map(|line| format!("{table}: {line}")),
        );
    }
    left
}

/// The journals of a test, of whichever machine.
pub(crate) fn journals(fixture: &Fixture) -> Vec<PathBuf> {
    files(&fixture.state()).iter().flat_map(|machine| files(machine)).collect()
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect()
}

/// Control groups of an invocation, anywhere.
pub(crate) fn groups(pid: u32) -> Vec<PathBuf> {
    let prefix = format!("thrashlab-{pid}-");
    let mut found = Vec::new();
    let mut dirs = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                found.push(entry.path());
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                dirs.push(entry.path());
            }
        }
    }
    found
}
