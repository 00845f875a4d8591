//! What an invocation creates that outlives it, and the lines of its journal.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use serde::{Deserialize, Serialize};

use crate::group_limit::GroupLimit;
use crate::host::Host;
use crate::sysctl::Change;

/// Something that outlives a process unless it is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Resource {
    /// A process, known by its number and its start time (so that a reused number is safe).
    Process {
        /// Process number.
        pid: u32,
        /// Start time in clock ticks since boot (field 22 of `/proc/PID/stat`).
        start_ticks: u64,
    },
    /// A control group.
    Cgroup(PathEntry),
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
    Swap(PathEntry),
    /// A kernel parameter that was changed: it gets its old value back.
    Sysctl(Change),
    /// A limit of an existing control group that was lowered: it gets its old value back.
    GroupLimit(GroupLimit),
    /// Delay accounting, switched on: it goes off when nobody needs it any more.
    DelayAccounting,
    /// A directory with all that is in it.
    Directory(PathEntry),
}

/// A resource with a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathEntry {
    /// Where it is.
    pub path: PathBuf,
    /// Which one of this path; `None`: it was about to be created.
    #[serde(default)]
    pub(crate) identity: Option<Identity>,
}

impl<P: Into<PathBuf>> From<P> for PathEntry {
    /// What is about to be created.
    fn from(path: P) -> Self {
        Self { path: path.into(), identity: None }
    }
}

impl Resource {
    pub(crate) fn outlives_boot(&self) -> bool {
        matches!(self, Self::Directory(_) | Self::Swap(_))
    }

    /// Whether its name means the same in these namespaces.
    fn is_seen_from(&self, now: &Host, then: &Host) -> bool {
        match self {
            Self::Process { .. } => now.pid_namespace == then.pid_namespace,
            Self::Queue { .. } | Self::Segment { .. } => now.ipc_namespace == then.ipc_namespace,
            _ => true,
        }
    }

    /// A copy of the resource with the identity of what has its path now.
    pub(crate) fn identified(&self) -> io::Result<Self> {
        let mut made = self.clone();
        match &mut made {
            Self::Cgroup(place) | Self::Swap(place) | Self::Directory(place) => {
                place.identity = Some(Identity::read(&place.path)?);
            }
            Self::Sysctl(change) => *change = change.as_made()?,
            Self::GroupLimit(limit) => *limit = limit.as_made()?,
            _ => {}
        }
        Ok(made)
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process { pid, .. } => write!(out, "process {pid}"),
            Self::Cgroup(place) => write!(out, "control group {}", place.path.display()),
            Self::Queue { key } => write!(out, "SysV message queue {key:#x}"),
            Self::Segment { key } => write!(out, "SysV shared memory segment {key:#x}"),
            Self::Swap(place) => write!(out, "swap file {}", place.path.display()),
            Self::Sysctl(change) => write!(out, "kernel parameter {change}"),
            Self::GroupLimit(limit) => write!(out, "limit {limit}"),
            Self::DelayAccounting => write!(out, "delay accounting, switched on"),
            Self::Directory(place) => write!(out, "directory {}", place.path.display()),
        }
    }
}

/// An inode, and when it was created: inode numbers are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    inode: u64,
    /// In ns since 1970; `None` where the file system does not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    born_unix_ns: Option<i64>,
}

impl Identity {
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        let facts = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted)?;
        let is_known = facts.stx_mask & StatxFlags::BTIME.bits() != 0;
        let born = facts.stx_btime;
        let born_unix_ns =
            born.tv_sec.saturating_mul(1_000_000_000).saturating_add(i64::from(born.tv_nsec));
        Ok(Self { inode: facts.stx_ino, born_unix_ns: is_known.then_some(born_unix_ns) })
    }

    pub(crate) fn is(self, now: Self) -> bool {
        let born = self.born_unix_ns.zip(now.born_unix_ns);
        self.inode == now.inode && born.is_none_or(|(then, now)| then == now)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Entry {
    /// The first line: where everything was created.
    Host(Host),
    /// The first line in former versions: the boot.
    Boot(String),
    #[serde(rename = "made")]
    Created(Resource),
    #[serde(rename = "gone")]
    Removed(Resource),
}

/// What a journal lists as existing and this host can remove, in the order of creation. `None` for
/// a journal of another machine. A cut line is the last one, written before anything was created.
pub(crate) fn outstanding(text: &str, now: &Host) -> Option<Vec<Resource>> {
    if !text.contains('\n') {
        return Some(Vec::new());
    }
    let mut left: Vec<Resource> = Vec::new();
    let mut then = None;
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(Entry::Host(host)) => then = Some(host),
            // A boot is of one machine.
            Ok(Entry::Boot(boot)) => {
                then = (boot == now.boot && !boot.is_empty()).then(|| now.clone());
            }
            Ok(Entry::Created(made)) => left.push(made),
            Ok(Entry::Removed(made)) => left.retain(|other| *other != made),
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn host(machine: &str, boot: &str) -> Host {
        let (machine, boot) = (machine.to_owned(), boot.to_owned());
        Host { machine, boot, pid_namespace: "pid:[1]".into(), ipc_namespace: "ipc:[1]".into() }
    }

    fn text(first: &Entry, made: &[Resource]) -> String {
        let entries = made.iter().map(|made| serde_json::to_string(&Entry::Created(made.clone())));
        let lines: Vec<String> = entries.map(Result::unwrap).collect();
        [serde_json::to_string(first).unwrap(), lines.join("\n")].join("\n")
    }

    #[test]
    fn numbers_of_other_namespaces_are_not_obeyed() {
        let process = Resource::Process { pid: 1, start_ticks: 2 };
        let queue = Resource::Queue { key: 7 };
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
        let directory = Resource::Directory("/tmp/a".into());
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
    fn another_one_of_the_same_name_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        assert!(Identity::read(&path).is_err());
        fs::create_dir(&path).unwrap();
        let first = Identity::read(&path).unwrap();
        let is_first = || first.is(Identity::read(&path).unwrap());
        assert!(is_first());
        fs::write(path.join("file"), "x").unwrap();
        assert!(is_first(), "what is in it does not matter");
        fs::rename(&path, folder.path().join("other")).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(!is_first());
        let text = serde_json::to_string(&first).unwrap();
        assert_eq!(serde_json::from_str::<Identity>(&text).unwrap(), first);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in ".{0,200}") {
            let _ = outstanding(&text, &host("m", "b"));
        }
    }
}
