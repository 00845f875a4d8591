//! Removing what a journal says still exists.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use sys::message_queue::MessageQueue;
use sys::process::{signal, signals};
use sys::swap::swap_off;

use crate::journal::{Made, boot_id, outstanding};

/// How long a removal may take that waits for dying processes.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(10);

/// Removes what invocations left that no longer live: after a power cut, or when a user killed
/// everything. Returns what was removed, a sentence each.
pub fn sweep_leftovers(state_dir: &Path) -> Vec<String> {
    let mut removed = Vec::new();
    let Ok(entries) = fs::read_dir(state_dir) else { return removed };
    for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
        if path.extension().is_none_or(|extension| extension != "journal") {
            continue;
        }
        // The lock is held by the invocation as long as it lives.
        let Ok(file) = File::open(&path) else { continue };
        if file.try_lock().is_ok() {
            removed.extend(sweep(&path));
        }
    }
    removed
}

/// Removes all that a journal says still exists, the newest first, then the journal itself.
/// What cannot be removed keeps the journal, so that a later start tries again.
pub(crate) fn sweep(journal: &Path) -> Vec<String> {
    let Ok(text) = fs::read_to_string(journal) else { return Vec::new() };
    let mut left = outstanding(&text);
    // Processes first: they hold everything else.
    left.sort_by_key(|made| matches!(made, Made::Process { .. }));
    let mut removed = Vec::new();
    let mut failed = false;
    for made in left.iter().rev() {
        match remove(made) {
            Ok(true) => removed.push(describe(made)),
            Ok(false) => {}
            Err(_) => failed = true,
        }
    }
    if !failed {
        // A journal that is gone already was removed by somebody who did the same.
        let _ = fs::remove_file(journal);
    }
    removed
}

/// Removes one thing; whether it was still there.
///
/// # Errors
/// When it is there and cannot be removed.
pub(crate) fn remove(made: &Made) -> io::Result<bool> {
    match made {
        Made::Process { pid, start_ticks } => remove_process(*pid, *start_ticks),
        Made::Cgroup { path } => remove_cgroup(path),
        Made::Queue { key, boot_id: made_in } => {
            if *made_in != boot_id() {
                return Ok(false);
            }
            match MessageQueue::open(*key) {
                Ok(queue) => queue.remove().map(|()| true),
                Err(_) => Ok(false),
            }
        }
        Made::Swap { path } => remove_swap(path),
        Made::Directory { path } => remove_directory(path),
    }
}

fn describe(made: &Made) -> String {
    match made {
        Made::Process { pid, .. } => format!("process {pid}"),
        Made::Cgroup { path } => format!("control group {}", path.display()),
        Made::Queue { key, .. } => format!("SysV message queue {key:#x}"),
        Made::Swap { path } => format!("swap file {}", path.display()),
        Made::Directory { path } => format!("directory {}", path.display()),
    }
}

/// Start time of a process in clock ticks since boot; `None` if there is no such process.
pub(crate) fn start_ticks(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything: count from the last parenthesis.
    text.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

fn remove_process(pid: u32, expected_ticks: u64) -> io::Result<bool> {
    if start_ticks(pid) != Some(expected_ticks) {
        return Ok(false);
    }
    signal(pid, signals::KILL)?;
    Ok(true)
}

/// Kills all processes of a control group and removes it.
fn remove_cgroup(path: &Path) -> io::Result<bool> {
    if !path.exists() {
        return Ok(false);
    }
    patiently(|| {
        if fs::write(path.join("cgroup.kill"), "1").is_err() {
            kill_members(path)?;
        }
        match fs::remove_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    })?;
    Ok(true)
}

fn kill_members(path: &Path) -> io::Result<()> {
    for line in fs::read_to_string(path.join("cgroup.procs"))?.lines() {
        if let Ok(pid) = line.parse() {
            signal(pid, signals::KILL)?;
        }
    }
    Ok(())
}

fn remove_swap(path: &Path) -> io::Result<bool> {
    if !path.exists() {
        return Ok(false);
    }
    // "Invalid argument" means that it is not in use: it was made but never switched on.
    match swap_off(path) {
        Err(error) if error.kind() != io::ErrorKind::InvalidInput => return Err(error),
        _ => {}
    }
    fs::remove_file(path)?;
    Ok(true)
}

fn remove_directory(path: &Path) -> io::Result<bool> {
    if !path.exists() {
        return Ok(false);
    }
    patiently(|| match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    })?;
    Ok(true)
}

/// Tries until it works; dying processes may hold a thing for a moment.
fn patiently(mut work: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match work() {
            Err(_) if Instant::now() < deadline => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Journal;

    #[test]
    fn a_dead_invocation_is_swept_and_a_living_one_is_not() {
        let state = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let left = work.path().join("run");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("written.dat"), "x").unwrap();
        let mut journal = Journal::create(state.path()).unwrap();
        journal.made(Made::Directory { path: left.clone() }).unwrap();

        assert!(sweep_leftovers(state.path()).is_empty(), "the lock is held: it lives");
        assert!(left.exists());
        drop(journal);
        assert_eq!(sweep_leftovers(state.path()), [format!("directory {}", left.display())]);
        assert!(!left.exists());
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_process_number_used_again_is_not_killed() {
        let me = std::process::id();
        let ticks = start_ticks(me).unwrap();
        assert!(!remove(&Made::Process { pid: me, start_ticks: ticks + 1 }).unwrap());
    }
}
