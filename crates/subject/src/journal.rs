//! The journal: what this invocation has made and not yet removed, on disk, so that somebody else
//! can remove it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sys::user_folder::user_folder;

use crate::identity::Identity;
use crate::sysctl::Change;

/// Something that outlives a process unless it is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Made {
    /// A process, known by its number and its start time (so that a number used again is safe).
    Process {
        /// Process number.
        pid: u32,
        /// Start time in clock ticks since boot (field 22 of `/proc/PID/stat`).
        start_ticks: u64,
    },
    /// A control group.
    Cgroup {
        /// Its directory.
        path: PathBuf,
        /// Which one of this path; `None`: it was about to be made.
        #[serde(default)]
        identity: Option<Identity>,
    },
    /// A SysV message queue.
    Queue {
        /// Its key.
        key: i32,
    },
    /// A SysV shared memory segment.
    Segment {
        /// Its key.
        key: i32,
    },
    /// A swap file: switched off, then removed.
    Swap {
        /// The file.
        path: PathBuf,
        /// Which one of this path; `None`: it was about to be made.
        #[serde(default)]
        identity: Option<Identity>,
    },
    /// A kernel parameter that was changed: it gets its old value back.
    Sysctl(Change),
    /// Delay accounting, switched on: it goes off when nobody needs it any more.
    DelayAccounting,
    /// A directory with all that is in it.
    Directory {
        /// The directory.
        path: PathBuf,
        /// Which one of this path; `None`: it was about to be made.
        #[serde(default)]
        identity: Option<Identity>,
    },
}

impl Made {
    /// A directory that is about to be made.
    pub(crate) fn directory(path: PathBuf) -> Self {
        Self::Directory { path, identity: None }
    }

    /// Whether it is still there after a power cut.
    fn outlives_boot(&self) -> bool {
        matches!(self, Self::Directory { .. } | Self::Swap { .. })
    }

    /// Whether its name means the same to processes of other namespaces.
    fn is_seen_from(&self, now: &Host, then: &Host) -> bool {
        match self {
            Self::Process { .. } => now.pid_namespace == then.pid_namespace,
            Self::Queue { .. } | Self::Segment { .. } => now.ipc_namespace == then.ipc_namespace,
            _ => true,
        }
    }

    /// The same with the identity of what was made; what has no path stays as it is.
    fn identified(&self) -> io::Result<Self> {
        let mut made = self.clone();
        if let Self::Cgroup { path, identity }
        | Self::Swap { path, identity }
        | Self::Directory { path, identity } = &mut made
        {
            *identity = Some(Identity::read(path)?);
        }
        Ok(made)
    }
}

/// Where something was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Host {
    /// The machine, as [`sys::host::machine`] names it.
    machine: String,
    boot: String,
    pid_namespace: String,
    ipc_namespace: String,
}

impl Host {
    /// Where this process lives; what cannot be read is empty.
    pub(crate) fn this() -> Self {
        let namespace = |name: &str| {
            fs::read_link(format!("/proc/self/ns/{name}"))
                .map_or(String::new(), |link| link.to_string_lossy().into_owned())
        };
        Self {
            machine: sys::host::machine(),
            boot: sys::host::boot_id().unwrap_or_default(),
            pid_namespace: namespace("pid"),
            ipc_namespace: namespace("ipc"),
        }
    }
}

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Entry {
    /// The first line: where everything else was made.
    Host(Host),
    /// The first line that former versions wrote: the boot.
    Boot(String),
    /// About to be made.
    Made(Made),
    /// Removed.
    Gone(Made),
}

/// The journal of a living invocation; its file is locked as long as the invocation lives.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Where a new journal goes: under a name that no other has.
    pub(crate) fn new_path(dir: &Path) -> PathBuf {
        dir.join(format!("{}-{}.journal", sys::clock::realtime_ns(), std::process::id()))
    }

    /// A new, locked journal.
    pub(crate) fn create(path: PathBuf) -> io::Result<Self> {
        let dir = path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        loop {
            let file = OpenOptions::new().append(true).create_new(true).open(&path)?;
            file.lock()?;
            // Before it was locked, a sweeper may have taken it for that of a dead invocation.
            if file.metadata()?.nlink() > 0 {
                File::open(dir)?.sync_all()?;
                let mut journal = Self { path, file };
                journal.append(&Entry::Host(Host::this()))?;
                return Ok(journal);
            }
        }
    }

    /// The journal's file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes down that something is about to be made.
    pub(crate) fn made(&mut self, made: Made) -> io::Result<()> {
        let outlives_boot = made.outlives_boot();
        self.append(&Entry::Made(made))?;
        // What a power cut leaves is written down where a power cut leaves it.
        if outlives_boot { self.file.sync_data() } else { Ok(()) }
    }

    /// Makes something that has a path: it is written down before it is made, and which one it is
    /// afterwards. If it cannot be made, what has its path is somebody else's and is forgotten.
    ///
    /// # Errors
    /// When it cannot be made or written down.
    pub(crate) fn make<T>(
        &mut self,
        made: Made,
        make: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<(Made, T)> {
        self.made(made.clone())?;
        let what = match make() {
            Ok(what) => what,
            Err(error) => {
                self.gone(made)?;
                return Err(error);
            }
        };
        let identified = made.identified()?;
        self.made(identified.clone())?;
        self.gone(made)?;
        Ok((identified, what))
    }

    /// Writes down that something has been removed.
    pub(crate) fn gone(&mut self, made: Made) -> io::Result<()> {
        self.append(&Entry::Gone(made))
    }

    fn append(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = serde_json::to_string(entry).map_err(io::Error::other)?;
        line.push('\n');
        // One write: a line is there whole or cut off at the end, never mixed.
        self.file.write_all(line.as_bytes())
    }
}

/// What a journal says still exists as far as `now` can remove it, in the order in which it was
/// made. `None` for a journal of another machine. A line that was cut off is the last one and was
/// written before anything was made; so a journal without a whole line has nothing.
pub(crate) fn outstanding(text: &str, now: &Host) -> Option<Vec<Made>> {
    if !text.contains('\n') {
        return Some(Vec::new());
    }
    let mut left: Vec<Made> = Vec::new();
    let mut then = None;
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(Entry::Host(host)) => then = Some(host),
            // It says nothing of the machine, but a boot is one of one machine.
            Ok(Entry::Boot(boot)) => {
                then = (boot == now.boot && !boot.is_empty()).then(|| now.clone());
            }
            Ok(Entry::Made(made)) => left.push(made),
            Ok(Entry::Gone(made)) => left.retain(|other| *other != made),
            Err(_) => {}
        }
    }
    let then = then.filter(|then| then.machine == now.machine)?;
    let same_boot = then.boot == now.boot;
    left.retain(|made| match same_boot {
        true => made.is_seen_from(now, &then),
        false => made.outlives_boot(),
    });
    Some(left)
}

/// Where the journals and leases of all machines of this user are kept, a folder a machine:
/// `$XDG_STATE_HOME/thrashlab`, `~/.local/state/thrashlab`, or without a home directory a folder
/// of this user in `/var/tmp`.
pub(crate) fn state_root() -> PathBuf {
    user_folder("XDG_STATE_HOME", ".local/state")
        .unwrap_or_else(|| PathBuf::from(format!("/var/tmp/thrashlab-state-{}", user_id())))
}

/// Where what concerns this machine is kept. A home directory may be common to several machines,
/// which must not remove what the others have made.
#[must_use]
pub fn state_dir() -> PathBuf {
    state_root().join(sys::host::machine())
}

/// The number of this user.
pub(crate) fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(machine: &str, boot: &str) -> Host {
        let (machine, boot) = (machine.to_owned(), boot.to_owned());
        Host { machine, boot, pid_namespace: "pid:[1]".into(), ipc_namespace: "ipc:[1]".into() }
    }

    fn text(first: &Entry, made: &[Made]) -> String {
        let entries = made.iter().map(|made| serde_json::to_string(&Entry::Made(made.clone())));
        let lines: Vec<String> = entries.map(Result::unwrap).collect();
        [serde_json::to_string(first).unwrap(), lines.join("\n")].join("\n")
    }

    #[test]
    fn what_was_removed_is_not_outstanding_and_a_cut_line_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(Journal::new_path(dir.path())).unwrap();
        let first = Made::directory("/tmp/a".into());
        let second = Made::Queue { key: 7 };
        let third = Made::Swap { path: "/tmp/s".into(), identity: None };
        journal.made(first.clone()).unwrap();
        journal.made(second.clone()).unwrap();
        journal.gone(first).unwrap();
        journal.made(third.clone()).unwrap();
        let text = fs::read_to_string(journal.path()).unwrap() + "{\"made\":{\"kind\":\"dir";
        let now = Host::this();
        assert_eq!(outstanding(&text, &now), Some(vec![second, third.clone()]));
        let later = Host { boot: "later".to_owned(), ..now.clone() };
        assert_eq!(outstanding(&text, &later), Some(vec![third]), "only files outlive a boot");
        let elsewhere = Host { machine: "another".to_owned(), ..now };
        assert_eq!(outstanding(&text, &elsewhere), None);
    }

    #[test]
    fn numbers_of_other_namespaces_are_not_obeyed() {
        let process = Made::Process { pid: 1, start_ticks: 2 };
        let queue = Made::Queue { key: 7 };
        let text = text(&Entry::Host(host("m", "b")), &[process.clone(), queue.clone()]);
        let now = host("m", "b");
        assert_eq!(outstanding(&text, &now).unwrap(), [process.clone(), queue.clone()]);
        let other = Host { pid_namespace: "pid:[2]".into(), ..now.clone() };
        assert_eq!(outstanding(&text, &other).unwrap(), [queue]);
        let other = Host { ipc_namespace: "ipc:[2]".into(), ..now };
        assert_eq!(outstanding(&text, &other).unwrap(), [process]);
    }

    #[test]
    fn a_journal_of_a_former_version_counts_in_its_own_boot_only() {
        let directory = Made::directory("/tmp/a".into());
        let text = text(&Entry::Boot("b".to_owned()), std::slice::from_ref(&directory));
        assert_eq!(outstanding(&text, &host("m", "b")), Some(vec![directory]));
        assert_eq!(outstanding(&text, &host("m", "c")), None, "it may be another machine's");
        let line = r#"{"made":{"kind":"directory","path":"/tmp/a"}}"#;
        assert!(serde_json::from_str::<Entry>(line).is_ok());
        let line = r#"{"made":{"kind":"sysctl","name":"vm.swappiness","before":"60"}}"#;
        assert!(serde_json::from_str::<Entry>(line).is_ok());
    }

    #[test]
    fn a_journal_whose_maker_died_over_its_first_line_has_nothing() {
        let host = Entry::Host(Host { machine: "another".to_owned(), ..Host::this() });
        let first = serde_json::to_string(&host).unwrap();
        for cut in ["", &first[..9], &first] {
            assert_eq!(outstanding(cut, &Host::this()), Some(Vec::new()), "{cut}");
        }
        assert_eq!(outstanding(&format!("{first}\n"), &Host::this()), None);
    }

    #[test]
    fn what_cannot_be_made_is_somebody_elses_and_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(Journal::new_path(dir.path())).unwrap();
        let path = dir.path().join("run");
        fs::create_dir(&path).unwrap();
        let made = Made::directory(path.clone());
        assert!(journal.make(made.clone(), || fs::create_dir(&path)).is_err());
        let left = |journal: &Journal| {
            outstanding(&fs::read_to_string(journal.path()).unwrap(), &Host::this()).unwrap()
        };
        assert_eq!(left(&journal), []);
        fs::remove_dir(&path).unwrap();
        let (identified, ()) = journal.make(made, || fs::create_dir(&path)).unwrap();
        assert_eq!(left(&journal), [identified]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in ".{0,200}") {
            let _ = outstanding(&text, &host("m", "b"));
        }
    }
}
