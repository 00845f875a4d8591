//! The journal: what this invocation has made and not yet removed, on disk, so that somebody else
//! can remove it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sys::user_folder::user_folder;

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
    },
    /// A kernel parameter that was changed: it gets its old value back.
    Sysctl {
        /// Its name, such as `vm.swappiness`.
        name: String,
        /// The value that it had.
        before: String,
    },
    /// Delay accounting, switched on: it goes off when nobody needs it any more.
    DelayAccounting,
    /// A directory with all that is in it.
    Directory {
        /// The directory.
        path: PathBuf,
    },
}

impl Made {
    /// Whether it is still there after a power cut.
    fn outlives_boot(&self) -> bool {
        matches!(self, Self::Directory { .. } | Self::Swap { .. })
    }
}

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Entry {
    /// The first line: the boot in which everything else was made.
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
                journal.append(&Entry::Boot(boot_id()))?;
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

/// What a journal says still exists in the boot `boot_id`, in the order in which it was made. A
/// line that was cut off is the last one and was written before anything was made.
pub(crate) fn outstanding(text: &str, boot_id: &str) -> Vec<Made> {
    let mut left: Vec<Made> = Vec::new();
    let mut same_boot = false;
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(Entry::Boot(made_in)) => same_boot = made_in == boot_id,
            Ok(Entry::Made(made)) => left.push(made),
            Ok(Entry::Gone(made)) => left.retain(|other| *other != made),
            Err(_) => {}
        }
    }
    left.retain(|made| same_boot || made.outlives_boot());
    left
}

/// Where journals are kept: `$XDG_STATE_HOME/thrashlab`, `~/.local/state/thrashlab`, or without a
/// home directory a folder of this user in `/var/tmp`.
#[must_use]
pub fn state_dir() -> PathBuf {
    user_folder("XDG_STATE_HOME", ".local/state")
        .unwrap_or_else(|| PathBuf::from(format!("/var/tmp/thrashlab-state-{}", user_id())))
}

/// The number of this user.
pub(crate) fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The boot that this process lives in; empty if it cannot be read.
pub(crate) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map_or(String::new(), |text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_removed_is_not_outstanding_and_a_cut_line_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(Journal::new_path(dir.path())).unwrap();
        let first = Made::Directory { path: "/tmp/a".into() };
        let second = Made::Queue { key: 7 };
        let third = Made::Swap { path: "/tmp/s".into() };
        journal.made(first.clone()).unwrap();
        journal.made(second.clone()).unwrap();
        journal.gone(first).unwrap();
        journal.made(third.clone()).unwrap();
        let text = fs::read_to_string(journal.path()).unwrap() + "{\"made\":{\"kind\":\"dir";
        assert_eq!(outstanding(&text, &boot_id()), [second, third.clone()]);
        assert_eq!(outstanding(&text, "a later boot"), [third], "only files outlive a boot");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in ".{0,200}") {
            let _ = outstanding(&text, "b");
        }
    }
}
