//! Removes what still exists according to a journal.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sys::process::{signal, signals};
use sys::swap::swap_off;
use sys::sysv::{MessageQueue, SharedSegment};

use crate::folders::{state_dir, state_root};
use crate::host::{Host, user_id};
use crate::io_results::{if_exists, unless_missing};
use crate::marked::end_marked;
use crate::patience::patiently;
use crate::proc_stat::start_ticks;
use crate::resource::{Identity, PathEntry, Resource, outstanding};
use crate::{delay_accounting, sysctl};

/// What a sweep did, one phrase each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// What still existed and has been removed.
    pub removed: Vec<String>,
    /// What could not be removed, with the reason; a later start tries again.
    pub failed: Vec<String>,
}

impl Swept {
    fn extend(&mut self, more: Self) {
        self.removed.extend(more.removed);
        self.failed.extend(more.failed);
    }
}

/// Removes what invocations of this user on this machine left that no longer live.
pub fn sweep_leftovers() -> Swept {
    let mut swept = sweep_folder(&state_dir());
    // Former versions kept all journals there.
    swept.extend(sweep_folder(&state_root()));
    swept
}

fn sweep_folder(folder: &Path) -> Swept {
    let mut swept = Swept::default();
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.extension().is_none_or(|extension| extension != "journal") {
            continue;
        }
        // An invocation that lives holds the lock.
        let Ok(file) = File::open(&path) else { continue };
        // A journal lists what to remove: only this user's own is followed.
        let own = file.metadata().is_ok_and(|facts| facts.uid() == user_id());
        if own && file.try_lock().is_ok() {
            swept.extend(sweep(&path));
        }
    }
    swept
}

/// Removes what a journal lists, newest first, and then the journal if that succeeded.
pub(crate) fn sweep(journal: &Path) -> Swept {
    let mut swept = Swept::default();
    let Ok(text) = fs::read_to_string(journal) else { return swept };
    let Some(mut left) = outstanding(&text, &Host::this()) else { return swept };
    left.sort_by_key(|made| matches!(made, Resource::Process { .. }));
    for made in left.iter().rev() {
        match remove(made) {
            Ok(true) => swept.removed.push(made.to_string()),
            Ok(false) => {}
            Err(error) => swept.failed.push(format!("{made}: {error}")),
        }
    }
    if swept.failed.is_empty() {
        // Another process may have done the same.
        let _ = fs::remove_file(journal);
    }
    swept
}

/// Removes one thing; returns whether it was still there.
pub(crate) fn remove(made: &Resource) -> io::Result<bool> {
    match made {
        Resource::Process { pid, start_ticks: then } if start_ticks(*pid) == Some(*then) => {
            signal(*pid, signals::KILL).map(|()| true)
        }
        Resource::Process { .. } => Ok(false),
        Resource::Cgroup(place) => remove_at(place, remove_empty, remove_cgroup),
        Resource::Queue { key } => {
            MessageQueue::open(*key).map_or(Ok(false), |queue| queue.remove().map(|()| true))
        }
        Resource::Segment { key } => {
            SharedSegment::open(*key).map_or(Ok(false), |segment| segment.remove().map(|()| true))
        }
        Resource::Swap(place) => remove_at(place, remove_empty_swap, remove_swap),
        Resource::Sysctl(change) => change.put_back(Path::new(sysctl::ROOT)),
        Resource::GroupLimit(limit) => limit.put_back(),
        Resource::DelayAccounting => {
            delay_accounting::put_back(Path::new(delay_accounting::FOLDER))
        }
        Resource::Directory(place) => remove_at(place, remove_empty, remove_directory),
    }
}

/// Removes the file or folder at a journal's path if it is the one that was created. An entry
/// without an identity means that its process ended while creating it: then only an `empty` one is
/// removed.
fn remove_at(
    place: &PathEntry,
    empty: fn(&Path) -> io::Result<bool>,
    ours: fn(&Path) -> io::Result<()>,
) -> io::Result<bool> {
    let path = &place.path;
    match (if_exists(Identity::read(path))?, place.identity) {
        (Some(_), None) => empty(path),
        (Some(now), Some(made)) if made.is(now) => ours(path).map(|()| true),
        _ => Ok(false),
    }
}

fn remove_empty(path: &Path) -> io::Result<bool> {
    use io::ErrorKind::{DirectoryNotEmpty, NotFound, ResourceBusy};
    match fs::remove_dir(path).map_err(|error| (error.kind(), error)) {
        Ok(()) => Ok(true),
        Err((NotFound | DirectoryNotEmpty | ResourceBusy, _)) => Ok(false),
        Err((_, error)) => Err(error),
    }
}

/// The kernel keeps a control group with processes in it: kill them first.
fn remove_cgroup(path: &Path) -> io::Result<()> {
    patiently(|| {
        if fs::write(path.join("cgroup.kill"), "1").is_err() {
            kill_members(path)?;
        }
        unless_missing(fs::remove_dir(path))
    })
}

fn kill_members(path: &Path) -> io::Result<()> {
    let members = if_exists(fs::read_to_string(path.join("cgroup.procs")))?;
    for line in members.unwrap_or_default().lines() {
        if let Ok(pid) = line.parse() {
            signal(pid, signals::KILL)?;
        }
    }
    Ok(())
}

fn remove_empty_swap(path: &Path) -> io::Result<bool> {
    let is_empty = fs::symlink_metadata(path)?.len() == 0;
    if is_empty { remove_swap(path).map(|()| true) } else { Ok(false) }
}

fn remove_swap(path: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, NotFound, PermissionDenied};
    match swap_off(path).map_err(|error| (error.kind(), error)) {
        // `EINVAL`: it is not in use. Without privilege it cannot have been switched on.
        Ok(()) | Err((InvalidInput | NotFound | PermissionDenied, _)) => {}
        Err((_, error)) => return Err(error),
    }
    unless_missing(fs::remove_file(path))
}

fn remove_directory(path: &Path) -> io::Result<()> {
    // Commands of a session may have left processes that still write.
    end_marked(&path.display().to_string())?;
    patiently(|| unless_missing(fs::remove_dir_all(path)))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::journal::Journal;
    use crate::patience::PATIENCE;

    fn journal(folder: &Path) -> Journal {
        Journal::create(Journal::new_path(folder), None).unwrap()
    }

    #[test]
    fn a_dead_invocation_is_swept_and_a_living_one_is_not() {
        let state = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let left = work.path().join("run");
        let mut journal = journal(state.path());
        journal.make(Resource::Directory(left.clone().into()), || fs::create_dir(&left)).unwrap();
        fs::write(left.join("written.dat"), "x").unwrap();

        assert_eq!(sweep_folder(state.path()), Swept::default(), "the lock is held: it lives");
        assert!(left.exists());
        journal.killed();
        let swept = sweep_folder(state.path());
        assert_eq!(swept.removed, [format!("directory {}", left.display())]);
        assert!(swept.failed.is_empty());
        assert!(!left.exists());
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_segment_that_nobody_removed_is_swept_by_its_key() {
        let state = tempfile::tempdir().unwrap();
        let key = 0x7419_0000 | (std::process::id() as i32 & 0xffff);
        let mut journal = journal(state.path());
        journal.note(&Resource::Queue { key }).unwrap();
        journal.note(&Resource::Segment { key }).unwrap();
        SharedSegment::create(key, 4096, false).unwrap();
        journal.killed();
        let swept = sweep_folder(state.path());
        assert_eq!(swept.removed, [format!("SysV shared memory segment {key:#x}")]);
        assert!(SharedSegment::open(key).is_err());
    }

    #[test]
    fn what_cannot_be_removed_is_named_with_the_reason_and_tried_again_later() {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join("not-a-directory");
        fs::write(&file, "x").unwrap();
        let mut journal = journal(state.path());
        journal.make(Resource::Cgroup(file.clone().into()), || Ok(())).unwrap();
        journal.killed();
        let begun = Instant::now();
        let swept = sweep_folder(state.path());
        assert!(begun.elapsed() < PATIENCE, "what does not go away by itself is not waited for");
        assert!(swept.failed[0].contains("not-a-directory: "), "{swept:?}");
        assert_eq!(sweep_folder(state.path()), swept);
    }

    #[test]
    fn what_has_the_path_of_something_made_is_not_removed_for_that() {
        let work = tempfile::tempdir().unwrap();
        let (folder, file) = (work.path().join("run"), work.path().join("swap"));
        let state = tempfile::tempdir().unwrap();
        let mut journal = journal(state.path());
        let swap = |path: &Path| Resource::Swap(path.into());
        // Resource here and removed by others, who then made another one of the name.
        journal
            .make(Resource::Directory(folder.clone().into()), || fs::create_dir(&folder))
            .unwrap();
        journal.make(swap(&file), || fs::write(&file, "")).unwrap();
        fs::rename(&folder, work.path().join("moved")).unwrap();
        fs::rename(&file, work.path().join("moved-too")).unwrap();
        // About to be created, and something existed already.
        let other = work.path().join("other");
        journal.note(&Resource::Directory(other.clone().into())).unwrap();
        journal.note(&swap(&other.join("precious"))).unwrap();
        for folder in [&folder, &other] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("precious"), "x").unwrap();
        }
        fs::write(&file, "precious").unwrap();
        journal.killed();
        assert_eq!(sweep_folder(state.path()), Swept::default());
        for precious in [folder.join("precious"), other.join("precious"), file] {
            assert!(precious.exists(), "{}", precious.display());
        }
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_journal_of_another_machine_is_left_alone() {
        let state = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let left = work.path().join("run");
        let mut journal = journal(state.path());
        journal.make(Resource::Directory(left.clone().into()), || fs::create_dir(&left)).unwrap();
        let text = fs::read_to_string(&journal.path).unwrap();
        let theirs = text.replace(&crate::host::machine(), "another-machine");
        assert_ne!(theirs, text);
        fs::write(&journal.path, theirs).unwrap();
        journal.killed();
        assert_eq!(sweep_folder(state.path()), Swept::default());
        assert!(left.exists());
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_process_number_used_again_is_not_killed() {
        let me = std::process::id();
        let ticks = start_ticks(me).unwrap();
        assert!(!remove(&Resource::Process { pid: me, start_ticks: ticks + 1 }).unwrap());
    }
}
