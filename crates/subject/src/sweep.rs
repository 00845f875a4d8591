//! Removing what a journal says still exists.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use sys::message_queue::MessageQueue;
use sys::process::{signal, signals};
use sys::shared_segment::SharedSegment;
use sys::swap::swap_off;

use crate::journal::{Made, boot_id, outstanding, user_id};
use crate::{delay_accounting, sysctl};

/// How long a removal may take that waits for dying processes.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(10);

/// What a sweep did, a phrase each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// What was still there and is gone now.
    pub removed: Vec<String>,
    /// What is still there, with the reason; a later start tries again.
    pub failed: Vec<String>,
}

/// Removes what invocations left that no longer live: after a power cut, or when a user killed
/// everything.
pub(crate) fn sweep_leftovers(state_dir: &Path) -> Swept {
    let mut swept = Swept::default();
    let Ok(entries) = fs::read_dir(state_dir) else { return swept };
    for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
        if path.extension().is_none_or(|extension| extension != "journal") {
            continue;
        }
        // The lock is held by the invocation as long as it lives.
        let Ok(file) = File::open(&path) else { continue };
        // Only this user's own journal is obeyed: it says what is to be removed.
        let own = file.metadata().is_ok_and(|facts| facts.uid() == user_id());
        if own && file.try_lock().is_ok() {
            let more = sweep(&path);
            swept.removed.extend(more.removed);
            swept.failed.extend(more.failed);
        }
    }
    swept
}

/// Removes all that a journal says still exists, the newest first, then the journal itself.
/// What cannot be removed keeps the journal, so that a later start tries again.
pub(crate) fn sweep(journal: &Path) -> Swept {
    let mut swept = Swept::default();
    let Ok(text) = fs::read_to_string(journal) else { return swept };
    let mut left = outstanding(&text, &boot_id());
    // Processes first: they hold everything else.
    left.sort_by_key(|made| matches!(made, Made::Process { .. }));
    for made in left.iter().rev() {
        match remove(made) {
            Ok(true) => swept.removed.push(describe(made)),
            Ok(false) => {}
            Err(error) => swept.failed.push(format!("{}: {error}", describe(made))),
        }
    }
    if swept.failed.is_empty() {
        // A journal that is gone already was removed by somebody who did the same.
        let _ = fs::remove_file(journal);
    }
    swept
}

/// Removes one thing; whether it was still there.
///
/// # Errors
/// When it is there and cannot be removed.
pub(crate) fn remove(made: &Made) -> io::Result<bool> {
    match made {
        Made::Process { pid, start_ticks } => remove_process(*pid, *start_ticks),
        Made::Cgroup { path } => remove_cgroup(path),
        Made::Queue { key } => match MessageQueue::open(*key) {
            Ok(queue) => queue.remove().map(|()| true),
            Err(_) => Ok(false),
        },
        Made::Segment { key } => match SharedSegment::open(*key) {
            Ok(segment) => segment.remove().map(|()| true),
            Err(_) => Ok(false),
        },
        Made::Swap { path } => remove_swap(path),
        Made::Sysctl { name, before } => sysctl::put_back(name, before),
        Made::DelayAccounting => delay_accounting::put_back(),
        Made::Directory { path } => remove_directory(path),
    }
}

fn describe(made: &Made) -> String {
    match made {
        Made::Process { pid, .. } => format!("process {pid}"),
        Made::Cgroup { path } => format!("control group {}", path.display()),
        Made::Queue { key } => format!("SysV message queue {key:#x}"),
        Made::Segment { key } => format!("SysV shared memory segment {key:#x}"),
        Made::Swap { path } => format!("swap file {}", path.display()),
        Made::Sysctl { name, before } => format!("kernel parameter {name} (before: {before})"),
        Made::DelayAccounting => "delay accounting, switched on".to_owned(),
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
        unless_gone(fs::remove_dir(path))
    })?;
    Ok(true)
}

fn kill_members(path: &Path) -> io::Result<()> {
    let members = match fs::read_to_string(path.join("cgroup.procs")) {
        // Somebody else has removed the group meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for line in members.lines() {
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
    match swap_off(path) {
        // "Invalid argument" means that it is not in use: it was made but never switched on. And
        // without the privilege to switch it off it cannot have been switched on.
        Err(error)
            if !matches!(
                error.kind(),
                io::ErrorKind::InvalidInput
                    | io::ErrorKind::NotFound
                    | io::ErrorKind::PermissionDenied
            ) =>
        {
            return Err(error);
        }
        _ => {}
    }
    unless_gone(fs::remove_file(path))?;
    Ok(true)
}

fn remove_directory(path: &Path) -> io::Result<bool> {
    // What the commands of a session had started may outlive them, and write on.
    sys::marked::end_marked(&path.display().to_string())?;
    if !path.exists() {
        return Ok(false);
    }
    patiently(|| unless_gone(fs::remove_dir_all(path)))?;
    Ok(true)
}

/// A thing that somebody else has removed meanwhile is removed: warden and next start may work at
/// the same time.
fn unless_gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Tries until it works, as long as what stands in the way may go away by itself: dying processes
/// hold a thing for a moment.
pub(crate) fn patiently(mut work: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match work() {
            Err(error)
                if Instant::now() < deadline
                    && matches!(
                        error.kind(),
                        io::ErrorKind::ResourceBusy
                            | io::ErrorKind::DirectoryNotEmpty
                            | io::ErrorKind::WouldBlock
                    ) =>
            {
                std::thread::sleep(PAUSE);
            }
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
        let mut journal = Journal::create(Journal::new_path(state.path())).unwrap();
        journal.made(Made::Directory { path: left.clone() }).unwrap();

        assert_eq!(sweep_leftovers(state.path()), Swept::default(), "the lock is held: it lives");
        assert!(left.exists());
        drop(journal);
        let swept = sweep_leftovers(state.path());
        assert_eq!(swept.removed, [format!("directory {}", left.display())]);
        assert!(swept.failed.is_empty());
        assert!(!left.exists());
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_segment_that_nobody_removed_is_swept_by_its_key() {
        let state = tempfile::tempdir().unwrap();
        let key = 0x7419_0000 | (std::process::id() as i32 & 0xffff);
        let mut journal = Journal::create(Journal::new_path(state.path())).unwrap();
        journal.made(Made::Queue { key }).unwrap();
        journal.made(Made::Segment { key }).unwrap();
        SharedSegment::create(key, 4096, false).unwrap();
        drop(journal);
        let swept = sweep_leftovers(state.path());
        assert_eq!(swept.removed, [format!("SysV shared memory segment {key:#x}")]);
        assert!(SharedSegment::open(key).is_err());
    }

    #[test]
    fn what_cannot_be_removed_is_named_with_the_reason_and_tried_again_later() {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join("not-a-directory");
        fs::write(&file, "x").unwrap();
        let mut journal = Journal::create(Journal::new_path(state.path())).unwrap();
        journal.made(Made::Cgroup { path: file.clone() }).unwrap();
        drop(journal);
        let begun = Instant::now();
        let swept = sweep_leftovers(state.path());
        assert!(begun.elapsed() < PATIENCE, "what does not go away by itself is not waited for");
        assert!(swept.failed[0].contains("not-a-directory: "), "{swept:?}");
        assert_eq!(sweep_leftovers(state.path()), swept);
    }

    #[test]
    fn a_process_number_used_again_is_not_killed() {
        let me = std::process::id();
        let ticks = start_ticks(me).unwrap();
        assert!(!remove(&Made::Process { pid: me, start_ticks: ticks + 1 }).unwrap());
    }
}
