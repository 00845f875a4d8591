//! The journal: what this invocation has created and not yet removed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::agent_program::AgentProgram;
use crate::cleanup::{CleanupProcess, Duty};
use crate::delay_accounting::{self, Held};
use crate::folders::make_private;
use crate::group_limit::GroupLimit;
use crate::host::Host;
use crate::io_results::at;
use crate::removal::{remove, sweep};
use crate::resource::{Entry, Resource};
use crate::sysctl::Change;
use crate::{swap_file, unique};

/// The journal of a living invocation, with its cleanup process. The file is locked while the
/// invocation lives; everything it names is removed on drop.
#[derive(Debug)]
pub struct Journal {
    pub(crate) path: PathBuf,
    file: File,
    cleanup: Option<CleanupProcess>,
    delay_accounting: Option<Held>,
}

impl Journal {
    /// Where a new journal of a folder goes: under a name that no other has.
    pub fn new_path(folder: &Path) -> PathBuf {
        folder.join(format!("{}.journal", unique::token()))
    }

    /// A new, locked journal, never without its cleanup process. Fails when it cannot be written.
    pub fn create(path: PathBuf, cleanup: Option<CleanupProcess>) -> io::Result<Self> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        make_private(folder)?;
        loop {
            let file = OpenOptions::new().append(true).create_new(true).open(&path)?;
            file.lock()?;
            // Before the lock, a sweep may have removed it.
            if file.metadata()?.nlink() > 0 {
                File::open(folder)?.sync_all()?;
                let mut journal = Self { path, file, cleanup, delay_accounting: None };
                journal.append(&Entry::Host(Host::this()))?;
                return Ok(journal);
            }
        }
    }

    /// Starts the cleanup process again if it was killed; fails when that is impossible.
    pub fn see_to_cleanup(&mut self, program: &AgentProgram) -> io::Result<()> {
        if self.cleanup.as_mut().is_none_or(|cleanup| !cleanup.is_alive()) {
            let duty = Duty::Journal(self.path.clone());
            self.cleanup = Some(CleanupProcess::start(program, &duty)?);
        }
        Ok(())
    }

    /// Records that something is about to be created. Fails when the journal cannot be written.
    pub fn note(&mut self, made: &Resource) -> io::Result<()> {
        self.append(&Entry::Created(made.clone()))?;
        if made.outlives_boot() { self.file.sync_data() } else { Ok(()) }
    }

    /// Makes something that has a path, and records it before and after. Fails when either fails.
    pub fn make<T>(
        &mut self,
        planned: Resource,
        make: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<(Resource, T)> {
        self.note(&planned)?;
        let what = match make() {
            Ok(what) => what,
            Err(error) => {
                self.gone(planned)?;
                return Err(error);
            }
        };
        let made = planned.identified()?;
        self.note(&made)?;
        if made != planned {
            self.gone(planned)?;
        }
        Ok((made, what))
    }

    /// Records the old value of a kernel parameter and sets it. Fails when there is none of this
    /// name, it cannot be set, or the journal cannot be written.
    pub fn set_parameter(&mut self, name: &str, value: &str) -> io::Result<Resource> {
        let change = Change::planned(name, value)?;
        self.make(Resource::Sysctl(change.clone()), || change.set()).map(|(made, ())| made)
    }

    /// Records a limit of an existing control group and lowers it; `None` if it is not higher.
    /// Fails when there is none, it cannot be set, or the journal cannot be written.
    pub fn lower_group_limit(&mut self, path: &Path, bytes: u64) -> io::Result<Option<Resource>> {
        let Some(limit) = GroupLimit::planned(path, bytes)? else { return Ok(None) };
        let made = self.make(Resource::GroupLimit(limit.clone()), || limit.set());
        made.map(|(made, ())| Some(made))
    }

    /// Makes a swap file in use. Fails without privilege or space, or when `stop` returns true.
    pub fn add_swap(
        &mut self,
        path: &Path,
        size_bytes: u64,
        stop: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        swap_file::may_swap(path)?;
        let (_, file) = self.make(Resource::Swap(path.into()), || swap_file::create(path))?;
        swap_file::fill(file, path, size_bytes, stop)
    }

    /// Keeps delay accounting on while this invocation lives. Fails when that is not permitted.
    pub fn count_delays(&mut self) -> io::Result<()> {
        let folder = Path::new(delay_accounting::FOLDER);
        let note = || self.note(&Resource::DelayAccounting);
        self.delay_accounting = delay_accounting::switch_on(folder, note)?;
        Ok(())
    }

    /// Removes a resource and records its removal. Fails when either is impossible.
    pub fn remove(&mut self, made: Resource) -> io::Result<()> {
        remove(&made)?;
        self.gone(made)
    }

    /// Records that a resource is gone. Fails when the journal cannot be written.
    pub fn gone(&mut self, made: Resource) -> io::Result<()> {
        self.append(&Entry::Removed(made))
    }

    /// Removes all that is left; returns why what stays for the next start cannot be removed.
    pub fn remove_all(&mut self) -> Vec<String> {
        self.delay_accounting = None;
        sweep(&self.path).failed
    }

    /// Ends as SIGKILL would: the file is closed, and nothing is removed.
    #[cfg(test)]
    pub(crate) fn killed(mut self) {
        self.path = PathBuf::new();
    }

    fn append(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = serde_json::to_string(entry).map_err(io::Error::other)?;
        line.push('\n');
        // One write: a line may be cut off, but never mixed with another.
        self.file
            .write_all(line.as_bytes())
            .map_err(at(format_args!("write {}", self.path.display())))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.remove_all();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::resource::outstanding;

    #[test]
    fn what_was_removed_is_not_outstanding_and_a_cut_line_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(Journal::new_path(dir.path()), None).unwrap();
        let first = Resource::Directory("/tmp/a".into());
        let second = Resource::Queue { key: 7 };
        let third = Resource::Swap("/tmp/s".into());
        journal.note(&first).unwrap();
        journal.note(&second).unwrap();
        journal.gone(first).unwrap();
        journal.note(&third).unwrap();
        let text = fs::read_to_string(&journal.path).unwrap() + "{\"made\":{\"kind\":\"dir";
        let now = Host::this();
        assert_eq!(outstanding(&text, &now), Some(vec![second, third.clone()]));
        let later = Host { boot: "later".to_owned(), ..now.clone() };
        assert_eq!(outstanding(&text, &later), Some(vec![third]), "only files outlive a boot");
        let elsewhere = Host { machine: "another".to_owned(), ..now };
        assert_eq!(outstanding(&text, &elsewhere), None);
        journal.killed();
    }

    #[test]
    fn what_cannot_be_made_is_somebody_elses_and_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(Journal::new_path(dir.path()), None).unwrap();
        let path = dir.path().join("run");
        fs::create_dir(&path).unwrap();
        let planned = Resource::Directory(path.clone().into());
        assert!(journal.make(planned.clone(), || fs::create_dir(&path)).is_err());
        let left = |journal: &Journal| {
            outstanding(&fs::read_to_string(&journal.path).unwrap(), &Host::this()).unwrap()
        };
        assert_eq!(left(&journal), []);
        fs::remove_dir(&path).unwrap();
        let (made, ()) = journal.make(planned, || fs::create_dir(&path)).unwrap();
        assert_eq!(left(&journal), [made]);
        drop(journal);
        assert!(!path.exists(), "an invocation that ends removes what it created");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
