//! What lies on the measured host while its runs are made: a folder of this user, with the lease,
//! the sockets of sessions, and runs that nobody has fetched yet.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sys::clock::realtime_ns;
use sys::out_file::write_whole;

use crate::wire::Ended;

/// How the name of a run under way ends.
const PART: &str = "part";
/// How the name of a finished run ends; beside it lies its end.
const RUN: &str = "run";
/// How the name of a run's end ends.
const END: &str = "end";
/// How the name of a session's socket ends.
const SOCKET: &str = "socket";

/// The folder.
#[derive(Clone, Debug)]
pub(crate) struct Spool {
    folder: PathBuf,
}

/// What is written beside a finished run.
#[derive(Serialize, Deserialize)]
struct Kept {
    ended: Ended,
    /// When it is thrown away, in ns since 1970.
    until_unix_ns: u64,
}

impl Spool {
    /// The folder of this user, made if it is missing.
    ///
    /// # Errors
    /// When it cannot be made, with its path.
    pub(crate) fn of_user() -> io::Result<Self> {
        Self::at(subject::state_dir().join("remote"))
    }

    pub(crate) fn at(folder: PathBuf) -> io::Result<Self> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|error| {
            let text =
                format!("make {}: {error}; name another in XDG_STATE_HOME", folder.display());
            io::Error::new(error.kind(), text)
        })?;
        Ok(Self { folder })
    }

    /// The file of the lease.
    pub(crate) fn lease(&self) -> PathBuf {
        self.folder.join("lease")
    }

    /// The folder and the name in it of a session's socket.
    pub(crate) fn socket(&self, session: &str) -> (&Path, String) {
        (&self.folder, format!("{session}.{SOCKET}"))
    }

    /// Begins a run; its file is empty.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn begin(&self, key: &str) -> io::Result<Writing> {
        let file = File::create(self.path(key, PART))?;
        Ok(Writing { file, hasher: blake3::Hasher::new(), size_bytes: 0 })
    }

    /// Keeps a run that is over until it is fetched.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub(crate) fn finish(&self, ended: &Ended, keep_ns: u64) -> io::Result<()> {
        let until_unix_ns = realtime_ns().saturating_add(keep_ns);
        let kept = Kept { ended: ended.clone(), until_unix_ns };
        let text = serde_json::to_vec(&kept).map_err(io::Error::other)?;
        let end = self.path(&ended.key, END);
        fs::rename(self.path(&ended.key, PART), self.path(&ended.key, RUN))?;
        // The end is there whole or not at all: without it, the run is none.
        write_whole(&end, &text)
    }

    /// How a finished run ended; `None` if there is none of this key.
    pub(crate) fn finished(&self, key: &str) -> Option<Ended> {
        Some(self.kept(key)?.ended)
    }

    fn kept(&self, key: &str) -> Option<Kept> {
        let text = fs::read(self.path(key, END)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Reads a piece of a run, from a place on, at most as much as the buffer takes.
    ///
    /// # Errors
    /// When the run is not there.
    pub(crate) fn read(&self, key: &str, from: u64, into: &mut [u8]) -> io::Result<usize> {
        // It has its last name as soon as it is over.
        let mut file =
            File::open(self.path(key, PART)).or_else(|_| File::open(self.path(key, RUN)))?;
        file.seek(SeekFrom::Start(from))?;
        file.read(into)
    }

    /// Removes a run.
    pub(crate) fn remove(&self, key: &str) {
        for ending in [END, RUN, PART] {
            let _ = fs::remove_file(self.path(key, ending));
        }
    }

    /// Removes what dead sessions left, except finished runs that may still be fetched. Only the
    /// holder of the lease may do it: all others are dead, or only keep finished runs.
    pub(crate) fn sweep(&self, own_socket: &str) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = |part: Option<&std::ffi::OsStr>| {
                part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default()
            };
            let (key, ending) = (name(path.file_stem()), name(path.extension()));
            let is_kept = || self.kept(&key).is_some_and(|kept| kept.until_unix_ns > realtime_ns());
            let stays = match ending.as_str() {
                RUN | END => is_kept(),
                SOCKET => name(path.file_name()) == own_socket,
                _ => name(path.file_name()) == "lease",
            };
            if !stays {
                let _ = fs::remove_file(&path);
            }
        }
    }

    fn path(&self, key: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("{key}.{ending}"))
    }
}

/// A run that is being written.
pub(crate) struct Writing {
    file: File,
    hasher: blake3::Hasher,
    /// What is written, in bytes.
    pub(crate) size_bytes: u64,
}

impl Writing {
    /// Adds a line.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub(crate) fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.write_all(line)?;
        self.hasher.update(line);
        self.size_bytes += line.len() as u64;
        Ok(())
    }

    /// BLAKE3 of what is written, in hexadecimal.
    pub(crate) fn blake3(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::EndStatus;

    fn ended(key: &str, writing: &Writing) -> Ended {
        Ended {
            key: key.to_owned(),
            status: EndStatus::Complete,
            death: None,
            size_bytes: writing.size_bytes,
            blake3: writing.blake3(),
        }
    }

    #[test]
    fn a_finished_run_stays_until_its_time_and_an_unfinished_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::at(folder.path().join("remote")).unwrap();
        for (key, keep_ns) in [("late", u64::MAX / 2), ("old", 0)] {
            let mut writing = spool.begin(key).unwrap();
            writing.line(b"{}\n").unwrap();
            assert_eq!(spool.finished(key), None);
            spool.finish(&ended(key, &writing), keep_ns).unwrap();
        }
        spool.begin("cut").unwrap().line(b"{}\n").unwrap();
        fs::write(spool.folder.join("dead.socket"), "").unwrap();
        fs::write(spool.folder.join("mine.socket"), "").unwrap();
        fs::write(spool.lease(), "").unwrap();
        spool.sweep("mine.socket");
        let mut names: Vec<String> = fs::read_dir(&spool.folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["late.end", "late.run", "lease", "mine.socket"]);
        let mut bytes = [0; 8];
        assert_eq!(spool.read("late", 1, &mut bytes).unwrap(), 2);
        assert_eq!(spool.finished("late").unwrap().size_bytes, 3);
        spool.remove("late");
        assert_eq!(spool.finished("late"), None);
    }
}
