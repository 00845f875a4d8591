//! Runs on a measured host that were not fetched yet, with the host's lock and sessions' sockets.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sys::clock::realtime_ns;

use crate::folders::{make_private, state_dir};
use crate::out_file::write_whole;

const LOCK: &str = "lease";
/// Suffixes: a run under way, a finished run, its end, a socket.
const PART: &str = "part";
const RUN: &str = "run";
const END: &str = "end";
const SOCKET: &str = "socket";

/// The folder.
#[derive(Clone, Debug)]
pub struct Spool {
    folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Kept<E> {
    ended: E,
    /// Expiry, in ns since 1970.
    until_unix_ns: u64,
}

impl Spool {
    /// The spool of this user on this machine, created if it is missing and can be.
    pub fn of_user() -> io::Result<Self> {
        Self::at(state_dir().join("remote"))
    }

    fn at(folder: PathBuf) -> io::Result<Self> {
        make_private(&folder).map_err(|error| {
            let text =
                format!("create {}: {error}; name another in XDG_STATE_HOME", folder.display());
            io::Error::new(error.kind(), text)
        })?;
        Ok(Self { folder })
    }

    /// The file of the lock on the host.
    pub fn lock(&self) -> PathBuf {
        self.folder.join(LOCK)
    }

    /// The folder, and the name in it of a session's socket.
    pub fn socket(&self, session: &str) -> (&Path, String) {
        (&self.folder, format!("{session}.{SOCKET}"))
    }

    /// Begins a run; its file is empty. Fails when it cannot be created.
    pub fn begin(&self, key: &str) -> io::Result<SpooledRun> {
        let file = File::create(self.path(key, PART))?;
        Ok(SpooledRun { file, hasher: blake3::Hasher::new(), size_bytes: 0 })
    }

    /// Keeps a finished run for a time, with its end. Fails when it cannot be written.
    pub fn finish(&self, key: &str, ended: &impl Serialize, keep_ns: u64) -> io::Result<()> {
        let until_unix_ns = realtime_ns().saturating_add(keep_ns);
        let end = serde_json::to_vec(&Kept { ended, until_unix_ns }).map_err(io::Error::other)?;
        fs::rename(self.path(key, PART), self.path(key, RUN))?;
        // Atomic: without its end, a run does not count.
        write_whole(&self.path(key, END), &end)
    }

    /// How a finished run ended; `None` if there is none of this key.
    pub fn finished<E: DeserializeOwned>(&self, key: &str) -> Option<E> {
        self.kept(key).map(|kept| kept.ended)
    }

    fn kept<E: DeserializeOwned>(&self, key: &str) -> Option<Kept<E>> {
        model::json::from_bytes(&fs::read(self.path(key, END)).ok()?).ok()
    }

    /// Opens a run, under way or finished. Fails when there is none.
    pub fn open(&self, key: &str) -> io::Result<File> {
        // It is renamed when it ends.
        File::open(self.path(key, PART)).or_else(|_| File::open(self.path(key, RUN)))
    }

    /// Removes a run.
    pub fn remove(&self, key: &str) {
        for ending in [END, RUN, PART] {
            let _ = fs::remove_file(self.path(key, ending));
        }
    }

    /// Removes leftovers of dead sessions, but not unexpired runs. Only for the holder of the lock.
    pub fn sweep(&self) {
        for path in fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|e| e.path()) {
            let part = |part: Option<&std::ffi::OsStr>| {
                part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default()
            };
            let stays = match part(path.extension()).as_str() {
                RUN | END => self
                    .kept::<serde::de::IgnoredAny>(&part(path.file_stem()))
                    .is_some_and(|kept| kept.until_unix_ns > realtime_ns()),
                _ => path == self.lock(),
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
#[derive(Debug)]
pub struct SpooledRun {
    file: File,
    hasher: blake3::Hasher,
    /// What is written, in bytes.
    pub size_bytes: u64,
}

impl SpooledRun {
    /// Adds a line. Fails when the disk does not take it.
    pub fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.write_all(line)?;
        self.hasher.update(line);
        self.size_bytes += line.len() as u64;
        Ok(())
    }

    /// BLAKE3 of what is written, in hexadecimal.
    pub fn blake3(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finished_run_stays_until_its_time_and_an_unfinished_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::at(folder.path().join("remote")).unwrap();
        for (key, keep_ns) in [("late", u64::MAX / 2), ("old", 0)] {
            let mut run = spool.begin(key).unwrap();
            run.line(b"{}\n").unwrap();
            assert_eq!(spool.finished::<u64>(key), None);
            spool.finish(key, &run.size_bytes, keep_ns).unwrap();
        }
        spool.begin("cut").unwrap().line(b"{}\n").unwrap();
        fs::write(spool.folder.join("dead.socket"), "").unwrap();
        fs::write(spool.lock(), "").unwrap();
        spool.sweep();
        let mut names: Vec<String> = fs::read_dir(&spool.folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["late.end", "late.run", "lease"]);
        assert_eq!(spool.open("late").unwrap().metadata().unwrap().len(), 3);
        assert_eq!(spool.finished("late"), Some(3_u64));
        spool.remove("late");
        assert_eq!(spool.finished::<u64>("late"), None);
    }
}
